#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Packs the archive that run_on_gpu.py writes into the two files that tests read.

    pack.py results.tar.gz NAME         writes NAME.tsv and NAME.bin beside this script

NAME.tsv: the device on the first line, then one line for each output of each launch,
`ptx, kernel, index of the [[run]], result, output, type, count, offset`, and for a launch that failed one line with the
error in place of the output. NAME.bin: the buffers, zlib-compressed together; an offset counts uncompressed bytes.
"""
import json
import pathlib
import sys
import tarfile
import zlib

archive = tarfile.open(sys.argv[1])
here = pathlib.Path(__file__).resolve().parent
recording = json.load(archive.extractfile("results.json"))
device = recording["device"]
lines = [f"{device['name']}, compute capability {device['capability']}, CUDA driver {device['driver']}"]
blob, places = bytearray(), {}
for launch in recording["results"]:
    start = [launch["ptx"], launch["kernel"], str(launch["run"]), launch["result"]]
    if launch["status"] != "ok":
        lines.append("\t".join(start + ["!", launch["error"]]))
    for name, output in launch.get("outputs", {}).items():
        digest = output["sha256"]
        if digest not in places:
            places[digest] = len(blob)
            blob += archive.extractfile(f"data/{digest}").read()
        lines.append("\t".join(start + [name, output["type"], str(output["count"]), str(places[digest])]))
(here / f"{sys.argv[2]}.tsv").write_text("\n".join(lines) + "\n")
(here / f"{sys.argv[2]}.bin").write_bytes(zlib.compress(bytes(blob), 9))
