// Packs the packages, installs them in empty folders outside the repository, and uses them there as a new user would: the demonstration of the
// program, which is installed alone; the first program of the library's guide, every entry, and the types of the libraries.
// On each Node of node-binaries.mjs. The numbers of passed, failed and skipped checks are in .tmp/packed.json.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { nodesToTry } from './node-binaries.mjs'
import { pack } from './pack.mjs'
import { root } from './packages.mjs'
import { reportChecks } from './report-checks.mjs'

const patienceMs = 300_000
/** Packages that the type tests need as well. */
const others = [
  'typescript',
  '@types/node',
  'expect-type',
  'zod',
  'valibot',
  'arktype',
  '@valibot/to-json-schema',
  '@opentelemetry/api',
]
/** A file where a folder is expected, so nothing can be stored there. */
const noHome = { HOME: fileURLToPath(new URL('package.json', root)) }
const hasStoredCode =
  'require("node:fs").readdirSync(`${process.env.HOME}/.cache/.halting`).some((name) => /^demo-.*[.]code$/.test(name))'
const textOf = (path) => readFileSync(new URL(path, root), 'utf8')
const jsonOf = (path) => JSON.parse(textOf(path))

const home = realpathSync(mkdtempSync(join(tmpdir(), 'halting-packed-')))
const programFolder = join(home, 'program')
const folder = join(home, 'libraries')
try {
  const packed = pack()
  const [libraries, programs] = [packed.filter(isLibrary), packed.filter((one) => !isLibrary(one))]
  install(programFolder, programs.map(tarballOf))
  install(folder, [...libraries.map(tarballOf), ...others.map(versioned)])
  const program = writeProgram()
  const entries = libraries.flatMap(({ name }) => entriesOf(name))
  writeTypeTests(entries)
  writeResults(entries)
  const halting = join(programFolder, 'node_modules', '.bin', 'halting')
  const checks = {
    'halting demo': () => includes(run(halting, 'demo'), 'reason     completed'),
    'compiled code is stored': () => equals(run('node', '-p', hasStoredCode), 'true\n'),
    'halting demo without a home': () => includes({ ...run(halting, 'demo'), env: noHome }, 'reason     completed'),
    'the first program': () => equals(run('node', 'first-program.mjs'), program.prints),
    [`${entries.length} entries`]: () =>
      equals(run('node', '--input-type=module', '-e', importing(entries)), `${entries.length}\n`),
    [`${entries.length} entries by require(), each the module that import gives, without a warning`]: () =>
      equals(run('node', '--input-type=commonjs', '-e', requiring(entries)), `${entries.length}\n`),
    'the types': () => equals(run('node', join('node_modules', 'typescript', 'bin', 'tsc'), '--project', '.'), ''),
    'names for what every function returns': () =>
      equals(run('node', join('node_modules', 'typescript', 'bin', 'tsc'), '--project', 'results'), ''),
    'the types of what runs on a cluster': () =>
      equals(run('node', join('node_modules', 'typescript', 'bin', 'tsc'), '--project', 'cluster-types'), ''),
  }
  const { passed, failed } = reportChecks(
    'packed',
    nodesToTry().flatMap((node) => outcomes(node, checks)),
  )
  process.exitCode = failed === 0 && passed > 0 ? 0 : 1
} finally {
  rmSync(home, { recursive: true, force: true })
}

function isLibrary({ name }) {
  return name !== 'halting'
}

function tarballOf({ tarball }) {
  return tarball
}

/** The version of a package that the workspace has installed: the type tests have to use the same one. */
function versioned(name) {
  return `${name}@${jsonOf(`node_modules/${name}/package.json`).version}`
}

/** Installs all at once, because no registry has the packages yet. */
function install(into, what) {
  mkdirSync(into)
  writeFileSync(join(into, 'package.json'), '{ "private": true, "type": "module" }\n')
  const options = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund']
  execFileSync('npm', ['install', ...options, ...what], {
    cwd: into,
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: patienceMs,
  })
}

/** The first program of the library's guide, copied from it, and the output that the guide promises. */
function writeProgram() {
  const [, code, prints] = /```js\n([^]*?)```\n\n```text\n([^]*?)```/.exec(textOf('docs/guide/embedding.md'))
  writeFileSync(join(folder, 'first-program.mjs'), code)
  return { prints }
}

/** The type tests of core, with the package instead of its sources, and a file that imports everything from every package. */
function writeTypeTests(entries) {
  const { compilerOptions } = jsonOf('tsconfig.base.json')
  const { composite: _, ...strict } = compilerOptions
  // The packed declarations are checked, too.
  const own = {
    skipLibCheck: false,
    // Programs of others may use stricter settings than this repository.
    exactOptionalPropertyTypes: true,
    declaration: false,
    isolatedDeclarations: false,
    noEmit: true,
    types: ['node'],
  }
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: { ...strict, ...own }, include: ['types'] }),
  )
  mkdirSync(join(folder, 'types'))
  for (const name of ['json-schema-type.ts', 'output.ts', 'tool.ts']) {
    const text = textOf(`packages/core/test/types/${name}`)
      .replaceAll("'../../src/index.ts'", "'@halting/core'")
      .replace(
        "import type { ToolInput } from '../../src/tools/tool.ts'",
        'type ToolInput = { readonly [name: string]: unknown }',
      )
      .replace("from 'vitest'", "from 'expect-type'")
    writeFileSync(join(folder, 'types', name), text)
  }
  const writeEntries = (path, names) =>
    writeFileSync(
      join(folder, path, 'entries.ts'),
      names.map((entry, index) => `export * as entry${index} from '${entry}'\n`).join(''),
    )
  // The declarations of Restate's SDK have errors under `exactOptionalPropertyTypes`.
  const isOfCluster = (entry) => entry.startsWith('@halting/restate')
  writeEntries(
    'types',
    entries.filter((entry) => !isOfCluster(entry)),
  )
  mkdirSync(join(folder, 'cluster-types'))
  writeFileSync(
    join(folder, 'cluster-types', 'tsconfig.json'),
    JSON.stringify({ compilerOptions: { ...strict, ...own, exactOptionalPropertyTypes: false }, include: ['.'] }),
  )
  writeEntries('cluster-types', entries.filter(isOfCluster))
}

/**
 * A program that exports the results of each function of the packages. Its declarations have to name each type by an import from an entry, so a type that no entry exports is an
 * error.
 */
function writeResults(entries) {
  mkdirSync(join(folder, 'results'))
  const compilerOptions = {
    module: 'nodenext',
    target: 'es2023',
    lib: ['es2023', 'esnext.disposable'],
    strict: true,
    declaration: true,
    outDir: 'out',
    types: ['node'],
    // The other checks include the declarations.
    skipLibCheck: true,
  }
  writeFileSync(join(folder, 'results', 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
  const listing = `const all = await Promise.all(${JSON.stringify(entries)}.map((entry) => import(entry)))
const isFunction = (value) => typeof value === 'function' && !/^class\\b/.test(Function.prototype.toString.call(value))
console.log(JSON.stringify(all.map((entry) => Object.keys(entry).filter((name) => isFunction(entry[name])))))`
  const options = { cwd: folder, encoding: 'utf8', timeout: patienceMs }
  const functions = JSON.parse(execFileSync('node', ['--input-type=module', '-e', listing], options))
  for (const [index, entry] of entries.entries()) {
    const results = functions[index].map(
      (name) => `export const ${name} = (undefined as unknown as () => ReturnType<typeof entry.${name}>)()\n`,
    )
    const text = `import type * as entry from '${entry}'\n${results.join('')}export {}\n`
    writeFileSync(join(folder, 'results', `entry${index}.ts`), text)
  }
}

/** The specifiers of a package that can be imported. */
function entriesOf(name) {
  const { exports } = JSON.parse(readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8'))
  return Object.keys(exports)
    .filter((key) => key !== './package.json')
    .map((key) => `${name}${key.slice(1)}`)
}

function importing(entries) {
  return `const all = await Promise.all(${JSON.stringify(entries)}.map((entry) => import(entry)))\nconsole.log(all.length)`
}

/** Each name of an entry is the same value by `import` and by `require`, so `instanceof` works for classes of both. */
function requiring(entries) {
  return `process.on('warning', ({ message }) => console.log(message))
const isSame = async (entry) => {
  const [required, imported] = [require(entry), await import(entry)]
  return Object.keys(imported).length > 0 && Object.keys(imported).every((name) => required[name] === imported[name])
}
Promise.all(${JSON.stringify(entries)}.map(isSame)).then((all) => console.log(all.filter((same) => same).length))`
}

function run(command, ...parameters) {
  return { command, parameters }
}

function equals(call, wanted) {
  return { ...call, wanted, isMet: (said) => said === wanted }
}

function includes(call, wanted) {
  return { ...call, wanted, isMet: (said) => said.includes(wanted) }
}

function outcomes(node, checks) {
  return Object.entries(checks).map(([name, made]) => {
    const title = `${name} on ${node.title}`
    return node.why === undefined ? { title, ...outcomeOf(made(), node) } : { title, kind: 'skipped', why: node.why }
  })
}

function outcomeOf({ command, parameters, wanted, isMet, env: more }, { bin, title }) {
  // A home folder for each Node, and none of the Node settings of the person who runs this.
  const own = { PATH: `${bin}${delimiter}${process.env.PATH}`, HOME: join(home, title), ...more }
  mkdirSync(join(home, title), { recursive: true })
  const others = Object.entries(process.env).filter(([name]) => !/^(?:NODE_|XDG_)/.test(name))
  const env = { ...Object.fromEntries(others), ...own }
  const { status, stdout, stderr, error } = spawnSync(command, parameters, {
    cwd: folder,
    env,
    encoding: 'utf8',
    timeout: patienceMs,
    killSignal: 'SIGKILL',
  })
  if (status === 0 && isMet(stdout)) return { kind: 'passed' }
  return { kind: 'failed', why: `exit ${status ?? error?.message}; wanted: ${wanted}\n${stdout}\n${stderr}` }
}
