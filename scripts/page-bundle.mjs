// Bundles the inspector's page: one script and one style, which the server serves and an exported session holds.
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { entriesOf, root } from './packages.mjs'

/** Where the entries lie that the page imports. An alias of esbuild counts for what is below it, too: what is longer comes first. */
const sources = Object.fromEntries(
  ['core', 'analysis']
    .flatMap((name) =>
      entriesOf(name).map(({ specifier, path }) => [
        specifier,
        fileURLToPath(new URL(`packages/${name}/src/${path}.ts`, root)),
      ]),
    )
    .toSorted(([one], [other]) => other.length - one.length),
)

/** @returns {Promise<readonly { readonly path: string, readonly contents: Uint8Array }[]>} page.js and page.css, for this folder. */
export async function pageBundle(outdir) {
  const { outputFiles } = await build({
    absWorkingDir: fileURLToPath(new URL('packages/inspector/', root)),
    entryPoints: [
      { in: 'src/page/main.tsx', out: 'page' },
      { in: 'src/page/page.css', out: 'page' },
    ],
    tsconfig: 'src/page/tsconfig.json',
    // From its sources, file by file: only what the page calls is in it.
    alias: sources,
    outdir,
    bundle: true,
    write: false,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    legalComments: 'none',
    logLevel: 'warning',
  })
  return outputFiles
}
