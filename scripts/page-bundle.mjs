// Bundles the inspector's page: one script and one style sheet, which the server serves and an exported session contains.
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { entriesOf, root } from './packages.mjs'

/** The files of the entries that the page imports. An alias of esbuild also applies to paths below it, so longer names come first. */
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
  // Endings have texts that only other frontends show. The page gets only the fields that its code names.
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

/** The whole table of core. */
async function endingsTable() {
  const path = fileURLToPath(new URL('packages/core/src/endings/table.ts', root))
  const { outputFiles } = await build({ entryPoints: [path], bundle: true, write: false, format: 'esm' })
  const { endings } = await import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`)
  return endings
}

/** `endings`: the table of endings that the page gets, as JSON. */
async function bundled(outdir, endings) {
  const { outputFiles } = await build({
    absWorkingDir: fileURLToPath(new URL('packages/inspector/', root)),
    entryPoints: [
      { in: 'src/page/main.tsx', out: 'page' },
      { in: 'src/page/page.css', out: 'page' },
    ],
    tsconfig: 'src/page/tsconfig.json',
    // Bundled from its sources, so it contains only what the page calls.
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
