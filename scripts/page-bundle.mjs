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
  // What an ending means has prose that only other frontends show: of each row the page gets the fields that its code names.
  const endings = await endingsTable()
  const [{ text: code }] = (await bundled(outdir, '{}')).filter(({ path }) => path.endsWith('.js'))
  const names = new Set(code.match(/[\w$]+/g))
  const rows = Object.entries(endings).map(([reason, row]) => [
    reason,
    Object.fromEntries(Object.entries(row).filter(([field]) => names.has(field))),
  ])
  return bundled(outdir, JSON.stringify(Object.fromEntries(rows)))
}

const tableFile = /core[\\/]src[\\/]endings[\\/]table\.ts$/

/** The table as core has it. */
async function endingsTable() {
  const path = fileURLToPath(new URL('packages/core/src/endings/table.ts', root))
  const { outputFiles } = await build({ entryPoints: [path], bundle: true, write: false, format: 'esm' })
  const { endings } = await import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`)
  return endings
}

/** `endings`: what the page gets as the table of endings, as JSON. */
async function bundled(outdir, endings) {
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
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'warning',
    plugins: [
      {
        name: 'endings',
        setup(builds) {
          builds.onLoad({ filter: tableFile }, () => ({ contents: `export const endings = ${endings}` }))
        },
      },
    ],
  })
  return outputFiles
}
