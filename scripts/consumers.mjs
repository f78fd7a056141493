// Compiles programs that use the packed packages, in strict mode and with every declaration checked, with the oldest supported TypeScript, with 5.9 and with the newest:
// as ES modules, as CommonJS, for a bundler, and with the module resolution that ignores `exports`. Programs compiled to CommonJS are run, too.
// npm brings the compilers. The numbers of passed, failed and skipped checks are in .tmp/consumers.json.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installPackages } from './install-packages.mjs'
import { pack } from './pack.mjs'
import { entriesOf, publishedPackages, root } from './packages.mjs'
import { reportChecks } from './report-checks.mjs'

const patienceMs = 300_000
const compilers = { 5.4: 'typescript@5.4.5', 5.9: 'typescript@5.9', newest: 'typescript@latest' }
/** Optional peers that declarations refer to, and Node's types. */
const others = ['@types/node', '@opentelemetry/api', '@ai-sdk/provider']

const node16 = { module: 'node16', moduleResolution: 'node16' }
/** How programs find packages. TypeScript 6 no longer supports node10. */
const kinds = {
  'ES modules': { type: 'module', options: node16, hasPages: true },
  CommonJS: { type: 'commonjs', options: node16, runs: true },
  'a bundler': { type: 'module', options: { module: 'esnext', moduleResolution: 'bundler' } },
  'resolution without exports': {
    type: 'commonjs',
    options: { module: 'commonjs', moduleResolution: 'node10', esModuleInterop: true },
    // Others depend on packages that this resolution does not find.
    entries: /^@halting\/(?:core|models|journal|telemetry|analysis)/,
    compilers: ['5.4', '5.9'],
  },
}

const strict = {
  target: 'es2022',
  lib: ['es2023', 'esnext.disposable'],
  types: ['node'],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noPropertyAccessFromIndexSignature: true,
  verbatimModuleSyntax: false,
  skipLibCheck: false,
}

/** What programs rely on: types inferred from a schema, classes, and a run. */
const program = `import { ModelError, query, tool } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { ModelError as same } from '@halting/core'
import { createPrices } from '@halting/models'

const add = tool({
  name: 'Add',
  description: 'Adds two numbers',
  readOnly: true,
  inputSchema: { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'integer' } }, required: ['a', 'b'] },
  execute({ a, b }) {
    // @ts-expect-error it is a number
    const text: string = a
    return \`\${String(text)} and \${(a + b).toFixed(0)}\`
  },
})

async function main(): Promise<void> {
  const model = scriptedModel([{ toolCalls: [{ name: 'Add', input: { a: 1, b: 2 } }] }, 'Three.'])
  const prices = createPrices({ scripted: { input: 1, output: 2 } })
  for await (const message of query({ prompt: 'One and two?', options: { model, prices, tools: [add], maxTurns: 3 } })) {
    if (message.type !== 'result' || message.subtype !== 'success') continue
    const words: string = message.result ?? ''
    console.log(words, message.stop.reason, new ModelError({ kind: 'timeout', message: 'late' }) instanceof same)
  }
}
void main()
`

const home = realpathSync(mkdtempSync(join(tmpdir(), 'halting-consumers-')))
try {
  const tarballs = pack()
    .filter(({ name }) => name !== 'halting')
    .map(({ tarball }) => tarball)
  const named = Object.entries(compilers).map(([name, spec]) => `${folderOf(name)}@npm:${spec}`)
  const { why } = installPackages(home, [...named, ...others.map(versioned), ...tarballs], { patienceMs })
  const { passed, failed, skipped } = reportChecks(
    'consumers',
    why === undefined ? Object.keys(kinds).flatMap(outcomesOf) : [{ title: 'compilers', kind: 'skipped', why }],
  )
  process.exitCode = failed === 0 && passed + skipped > 0 ? 0 : 1
} finally {
  rmSync(home, { recursive: true, force: true })
}

function folderOf(compiler) {
  return `typescript-${compiler.replace('.', '-')}`
}

function versioned(name) {
  const { version } = JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, root), 'utf8'))
  return `${name}@${version}`
}

function outcomesOf(kind) {
  const { type, options, runs = false, hasPages = false, entries: named = /./ } = kinds[kind]
  const only = kinds[kind].compilers ?? Object.keys(compilers)
  const folder = join(home, kind.replaceAll(' ', '-'))
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type }))
  // The declarations of Restate's SDK have errors under `exactOptionalPropertyTypes`.
  const isOfCluster = (specifier) => specifier.startsWith('@halting/restate')
  const entries = publishedPackages.flatMap((name) => entriesOf(name).map(({ specifier }) => specifier))
  const parts = {
    exact: {
      'program.ts': program,
      'entries.ts': exporting(entries.filter((entry) => named.test(entry) && !isOfCluster(entry))),
    },
    ...(hasPages && { loose: { 'entries.ts': exporting(entries.filter(isOfCluster)), ...samples() } }),
  }
  for (const [part, files] of Object.entries(parts)) {
    const compilerOptions = { ...strict, ...options, exactOptionalPropertyTypes: part === 'exact', outDir: 'out' }
    mkdirSync(join(folder, part))
    writeFileSync(join(folder, part, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
    for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, part, file), text)
  }
  return only.map((compiler) => {
    const said = Object.keys(parts).map((part) => compile(join(folder, part), compiler))
    const ran = runs ? run(join(folder, 'exact', 'out', 'program.js')) : ''
    return outcome(`${kind}, TypeScript ${versionOf(compiler)}`, `${said.join('')}${ran}`)
  })
}

function exporting(entries) {
  return entries.map((entry, index) => `export * as entry${index} from '${entry}'\n`).join('')
}

/** The TypeScript examples in the READMEs of the packages. */
function samples() {
  const texts = publishedPackages.flatMap((name) => {
    const page = new URL(`packages/${name}/README.md`, root)
    const text = existsSync(page) ? readFileSync(page, 'utf8') : ''
    return [...text.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, code], index) => [`${name}-${index}.ts`, code])
  })
  return Object.fromEntries(texts)
}

function compile(folder, compiler) {
  const tsc = join(home, 'node_modules', folderOf(compiler), 'bin', 'tsc')
  const { stdout, stderr } = spawnSync('node', [tsc, '--project', folder], {
    cwd: home,
    encoding: 'utf8',
    timeout: patienceMs,
  })
  return stdout + stderr
}

/** '' if it printed what it should. */
function run(file) {
  const printed = execFileSync('node', [file], { cwd: home, encoding: 'utf8', timeout: patienceMs })
  return printed === 'Three. completed true\n' ? '' : `printed: ${printed}`
}

function versionOf(compiler) {
  return JSON.parse(readFileSync(join(home, 'node_modules', folderOf(compiler), 'package.json'), 'utf8')).version
}

function outcome(title, problems) {
  return problems === '' ? { title, kind: 'passed' } : { title, kind: 'failed', why: problems.slice(0, 4_000) }
}
