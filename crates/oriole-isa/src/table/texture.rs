//! Textures and surfaces.

use super::*;

const TEXTURE: Accepts = TYPE.and(Accepts::GEOMETRY).and(Accepts::VECTOR);
const SURFACE: Accepts = TYPE
    .and(Accepts::GEOMETRY)
    .and(Accepts::VECTOR)
    .and(Accepts::CACHE_OPERATOR)
    .and(Accepts::SURFACE_CLAMP);

pub(super) static ENTRIES: &[Entry] = &[
    // `d, [texture, {sampler,} coordinates]`, then level or gradients, offset vector, depth reference.
    Entry::new(
        Opcode::Tex,
        &["tex"],
        TEXTURE,
        &[
            form(&[D, READ]),
            form(&[D, READ, U_ANY]),
            form(&[D, READ, U_ANY, U_ANY]),
            form(&[D, READ, U_ANY, U_ANY, U_ANY]),
            form(&[D, READ, U_ANY, U_ANY, U_ANY, U_ANY]),
        ],
    )
    .words(&["base", "level", "grad"])
    .in_space(Space::Texture),
    Entry::new(
        Opcode::Tld4,
        &["tld4"],
        TEXTURE,
        &[
            form(&[D, READ]),
            form(&[D, READ, U_ANY]),
            form(&[D, READ, U_ANY, U_ANY]),
        ],
    )
    .words(&["r", "g", "b", "a"])
    .in_space(Space::Texture),
    Entry::new(
        Opcode::Txq,
        &["txq"],
        TYPE,
        &[form(&[D, READ]), form(&[D, READ, U_32])],
    )
    .words(&[
        "level",
        "width",
        "height",
        "depth",
        "channel_data_type",
        "channel_order",
        "normalized_coords",
        "array_size",
        "num_mipmap_levels",
        "num_samples",
        "force_unnormalized_coords",
        "filter_mode",
        "addr_mode_0",
        "addr_mode_1",
        "addr_mode_2",
    ])
    .in_space(Space::Texture),
    Entry::new(
        Opcode::Istypep,
        &["istypep"],
        TYPE,
        &[form(&[D_PRED, U_64])],
    ),
    Entry::new(
        Opcode::Suld,
        &["suld.b", "suld"],
        SURFACE,
        &[form(&[D, READ])],
    )
    .in_space(Space::Texture),
    Entry::new(
        Opcode::Sust,
        &["sust.b", "sust.p", "sust"],
        SURFACE,
        &[form(&[WRITE, U])],
    )
    .in_space(Space::Texture),
    Entry::new(
        Opcode::Sured,
        &["sured.b", "sured.p", "sured"],
        SURFACE.and(Accepts::OPERATION),
        &[form(&[READ_WRITE, U])],
    )
    .led_by(&[Part::Operation])
    .in_space(Space::Texture),
    Entry::new(Opcode::Suq, &["suq"], TYPE, &[form(&[D, READ])])
        .words(&[
            "width",
            "height",
            "depth",
            "channel_data_type",
            "channel_order",
            "array_size",
            "memory_layout",
        ])
        .in_space(Space::Texture),
];
