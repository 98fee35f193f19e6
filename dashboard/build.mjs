// Bundle the dashboard into the Python package. The output is committed, so that installing and
// serving Placement needs no Node; CI builds it again and compares.
import { copyFile } from "node:fs/promises";
import { build } from "esbuild";

const target = new URL("../placement_insight/page/static/", import.meta.url).pathname;

await build({
  entryPoints: { dashboard: "src/main.tsx" },
  outdir: target,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  charset: "utf8",
});
await build({
  entryPoints: { dashboard: "src/style.css" },
  outdir: target,
  bundle: true,
  minify: true,
});
for (const name of ["index.html", "icon.svg", "icon-refusals.svg", "icon-lost.svg"]) await copyFile(`src/${name}`, target + name);
