//! How many blocks of a kernel a multiprocessor holds at once, and what stops it from holding more.
