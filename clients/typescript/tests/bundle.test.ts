import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const SOURCE = fileURLToPath(new URL("../src/", import.meta.url));
const MAX_REACT_BYTES = 4_096; // compressed (4 kB)

async function sizeOf(...names: string[]): Promise<number> {
  const contents = names.map((name) => `export * from "./${name}.js";`).join("\n");
  const bundled = await build({
    stdin: { contents, resolveDir: SOURCE },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "browser",
    external: ["react"],
  });
  return gzipSync(bundled.outputFiles[0]!.contents).length;
}

test("the components are a small part of a page", async (context) => {
  const [components, both] = [await sizeOf("react"), await sizeOf("react", "index")];

  context.diagnostic(`the components: ${components} bytes compressed; with the client: ${both}`);
  assert.ok(components <= MAX_REACT_BYTES, `${components}`);
});
