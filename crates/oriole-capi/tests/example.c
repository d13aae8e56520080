// SPDX-License-Identifier: Apache-2.0 OR MIT
// Optimizes and analyzes the file that is named, and shows what is wrong with another text.
#include "oriole.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int show(OrioleResult *result) {
    OrioleStatus status = oriole_status(result);
    if (status == ORIOLE_STATUS_FINE)
        fwrite(oriole_text(result), 1, oriole_text_length(result), stdout);
    else
        printf("status %d: %s\n", (int)status, oriole_message(result));
    oriole_free(result);
    return status == ORIOLE_STATUS_FINE;
}

int main(int count, char **arguments) {
    if (count != 2)
        return 2;
    FILE *file = fopen(arguments[1], "rb");
    if (!file)
        return 2;
    static char text[1 << 20];
    size_t length = fread(text, 1, sizeof text, file);
    fclose(file);

    const uint32_t block[3] = {32, 8, 1};
    printf("oriole %s\n", oriole_version());
    int fine = show(oriole_optimize(arguments[1], text, length, 2));
    fine &= show(oriole_analyze(arguments[1], text, length, block));
    puts("");
    fine &= !show(oriole_optimize("wrong.ptx", "mov.u32 %r1, ;", 14, 2));
    fine &= !show(oriole_optimize(NULL, text, length, 9));
    fine &= !show(oriole_analyze(NULL, NULL, 0, (const uint32_t[3]){2048, 1, 1}));
    oriole_free(NULL);
    return fine ? 0 : 1;
}
