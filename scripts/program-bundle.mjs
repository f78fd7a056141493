// The program as a few scripts that V8's code cache can hold, see docs/decisions/0102-code-cache.md. Splitting first gives chunks, as of every package; then
// the chunks that each start needs become one script each, and every other chunk a script of its own. bin/halting.js loads them.
import { readdirSync } from 'node:fs'
import { posix, relative, sep } from 'node:path'
import { isBuiltin } from 'node:module'
import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { build, transform } from 'esbuild'
import { parseSync, Visitor } from 'oxc-parser'
import { lazyGraphemes } from './lazy-graphemes.mjs'
import { lazyParser } from './lazy-parser.mjs'
import { openTelemetryModules } from './open-telemetry-modules.mjs'
import { entriesOf, manifestOf, packages, root } from './packages.mjs'
import { storeBuild, storedBuild } from './stored-build.mjs'
import { withoutBareImports } from './without-bare-imports.mjs'

/** Each script and its purpose: the modules that are imported at such a start, with all their imports. */
const startScripts = {
  start: [
    'src/main.ts',
    'src/session-store/configured-store.ts',
    'src/headless/headless.ts',
    'policy/src/settings/index.ts',
    'agent/src/open-session/clean-up.ts',
  ],
  terminal: ['src/terminal/run-terminal.ts', 'src/flags/open-session.ts', 'src/terminal/app/server-questions.ts'],
}

const banner =
  "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);\n"

const minified = { minifySyntax: true, minifyWhitespace: true }
const commonJs = { format: 'cjs', platform: 'node', target: 'node20.19', ...minified }

/** Sources of the entries of all packages, the longest name first: an alias also applies to paths below it. */
const sources = Object.fromEntries(
  packages
    .flatMap((name) =>
      entriesOf(name).map(({ specifier, path }) => [
        specifier,
        fileURLToPath(new URL(`../packages/${name}/src/${path}.ts`, import.meta.url)),
      ]),
    )
    // An optional peer: code that only sends requests to a cluster is in the program.
    .filter(([specifier]) => specifier !== '@halting/restate')
    .toSorted(([one], [other]) => other.length - one.length),
)

/** ES modules in place of CommonJS builds that do not fit: a chunk with that of `yaml` has only a default export, and that of `jsonc-parser` hides its imports. */
const esModules = { yaml: fileURLToPath(new URL('node_modules/yaml/browser/index.js', root)) }
const lazyModules = { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' }

const storeFile = fileURLToPath(new URL('.tmp/program-bundle.json', root))

/** What the program depends on besides its inputs: how it is bundled, and which packages are installed. */
function environment() {
  const scripts = readdirSync(new URL('scripts', root)).filter((name) => name.endsWith('.mjs'))
  const paths = [
    ...scripts.map((name) => `scripts/${name}`),
    ...packages.flatMap((name) => [`packages/${name}/package.json`, `packages/${name}/tsconfig.json`]),
    'package.json',
    'tsconfig.base.json',
    'node_modules/.package-lock.json',
  ]
  return paths.map((path) => fileURLToPath(new URL(path, root)))
}

/** The program for tests: the output of the last build if nothing changed. The npm package is always bundled anew. */
export async function currentProgram(outdir) {
  const stored = storedBuild(storeFile, process.version)
  if (stored === undefined) return programBundle(outdir)
  return { ...stored, files: stored.files.map(({ name, contents }) => ({ path: posix.join(outdir, name), contents })) }
}

/**
 * Stores it for `currentProgram`, too.
 * @param {string} outdir where the files belong, absolute
 * @returns {Promise<{ files: { path: string, contents: string }[], inputs: string[], sourcesOf: Record<string, string[]> }>} `inputs` are the files of the
 * bundle, `sourcesOf` those of each chunk
 */
export async function programBundle(outdir) {
  const startedAt = Date.now()
  const folder = fileURLToPath(new URL('../packages/cli/', import.meta.url))
  const { outputFiles, metafile } = await build({
    absWorkingDir: folder,
    entryPoints: { main: 'src/main.ts' },
    outdir,
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    logLevel: 'warning',
    // Our packages have no side effects: an import that only makes a chunk load with another one may be left out.
    logOverride: { 'ignored-bare-import': 'silent' },
    // ripgrep finds its binary next to its own file. The others are optional peers: sharp has binaries of its own, and only clusters use restate.
    external: ['@vscode/ripgrep', 'sharp', '@halting/restate'],
    alias: { ...sources, ...esModules },
    plugins: [lazyParser(lazyModules), lazyGraphemes(), openTelemetryModules()],
    // CommonJS packages inside an ES module still call require().
    banner: { js: banner.trimEnd() },
  })
  const nameOf = (path) => relative(outdir, posix.resolve(folder, path)).replaceAll(sep, '/')
  const texts = new Map(withoutBareImports(outputFiles).map(({ path, contents }) => [nameOf(path), contents]))
  const chunks = new Map(Object.entries(metafile.outputs).map(([path, chunk]) => [nameOf(path), chunk]))
  const scripts = scriptsOfChunks(chunks, nameOf)
  const files = await Promise.all([
    ...Object.keys(startScripts).map((script) => startScript(script, texts, scripts)),
    ...[...texts].filter(([name]) => !scripts.has(name)).map(([name, text]) => laterScript(name, text, scripts)),
  ])
  const made = {
    files: withBuild(files),
    inputs: Object.keys(metafile.inputs).map((path) => posix.join(folder, path)),
    sourcesOf: Object.fromEntries([...chunks].map(([name, { inputs }]) => [name, Object.keys(inputs)])),
  }
  storeBuild(storeFile, process.version, [...environment(), ...made.inputs], startedAt, made)
  return { ...made, files: made.files.map(({ name, contents }) => ({ path: posix.join(outdir, name), contents })) }
}

/** The script of each chunk: that of the first start whose modules import it. Chunks that no start imports are not listed. */
function scriptsOfChunks(chunks, nameOf) {
  const scripts = new Map()
  for (const [script, modules] of Object.entries(startScripts)) {
    const needed = new Set(modules.map((module) => chunkOf(module, chunks)))
    for (const name of needed) {
      if (scripts.has(name)) continue
      scripts.set(name, script)
      for (const { kind, external, path } of chunks.get(name).imports)
        if (kind === 'import-statement' && external !== true) needed.add(nameOf(path))
    }
  }
  return scripts
}

function chunkOf(module, chunks) {
  for (const [name, { entryPoint }] of chunks) if (entryPoint?.endsWith(module)) return name
  throw new Error(`${module} is not loaded by import(): change scripts/program-bundle.mjs.`)
}

/** One script of all its chunks. Each chunk still runs when it is first requested. */
async function startScript(script, texts, scripts) {
  const names = [...scripts].filter(([, of]) => of === script).map(([name]) => name)
  const contents = names.map((name) => `${JSON.stringify(name)}: () => require(${JSON.stringify(`chunk:${name}`)})`)
  const { outputFiles } = await build({
    ...commonJs,
    // Node loads eight modules for it, and has the same clock elsewhere.
    define: { 'performance.now': '__now' },
    stdin: { contents: `module.exports = {\n${contents.join(',\n')}\n}`, resolveDir: '/' },
    bundle: true,
    write: false,
    logLevel: 'warning',
    plugins: [chunksOf(script, texts, scripts)],
  })
  return { name: `${script}.cjs`, contents: await asScript(lazyBuiltins(lazyNamespaces(outputFiles[0].text))) }
}

/** @returns {import('esbuild').Plugin} */
function chunksOf(script, texts, scripts) {
  return {
    name: 'chunks-of-a-script',
    setup(build) {
      build.onResolve({ filter: /^chunk:/ }, ({ path }) => ({
        path: path.slice('chunk:'.length),
        namespace: 'program',
      }))
      build.onResolve({ filter: /.*/, namespace: 'program' }, ({ path, importer, kind }) => {
        const name = chunkNamed(path, importer)
        if (name === undefined) return { path: declared(path, kind), external: true }
        if (scripts.get(name) === script && kind !== 'dynamic-import') return { path: name, namespace: 'program' }
        return { path: address(name, scripts), external: true }
      })
      build.onLoad({ filter: /.*/, namespace: 'program' }, ({ path }) => ({ contents: withUrl(path, texts.get(path)) }))
    },
  }
}

/** A script of one chunk. */
async function laterScript(name, text, scripts) {
  if (name.endsWith('.cjs')) return { name, contents: text }
  const { outputFiles } = await build({
    ...commonJs,
    stdin: { contents: withUrl(name, text), resolveDir: '/' },
    bundle: true,
    write: false,
    logLevel: 'warning',
    plugins: [
      {
        name: 'one-chunk',
        setup(build) {
          build.onResolve({ filter: /.*/ }, ({ path, kind }) => {
            if (kind === 'entry-point') return undefined
            const other = chunkNamed(path, name)
            return { path: other === undefined ? declared(path, kind) : address(other, scripts), external: true }
          })
        },
      },
    ],
  })
  return { name: name.replace(/\.js$/, '.cjs'), contents: await asScript(outputFiles[0].text) }
}

/** The chunk that an import in a chunk names. */
function chunkNamed(path, importer) {
  return /^\.{1,2}\/.*\.js$/.test(path) ? posix.join(posix.dirname(importer), path) : undefined
}

/** How bin/halting.js finds a chunk: the file, and its index in it. */
function address(name, scripts) {
  const script = scripts.get(name)
  return script === undefined ? `halting:${name.replace(/\.js$/, '.cjs')}` : `halting:${script}.cjs#${name}`
}

const { dependencies, peerDependencies } = manifestOf('cli')

/** @throws for a package that the manifest of the program does not name: the program would not find it where it is installed alone. */
function declared(path, kind) {
  const name = path.split('/', path.startsWith('@') ? 2 : 1).join('/')
  if (isBuiltin(path) || path.endsWith('.cjs') || name in dependencies) return path
  if (kind === 'dynamic-import' && name in peerDependencies) return path
  throw new Error(`The program imports ${path}, and packages/cli/package.json does not declare it.`)
}

/** The chunk with its own address, whichever file contains it. */
function withUrl(name, text) {
  return text.replace(banner, '').replaceAll('import.meta.url', `__urlOf(${JSON.stringify(name)})`)
}

/** Makes the bundler's namespaces of chunks on first use from another file: a start uses few of them. Later uses get the namespace itself, not a copy of it. */
function lazyNamespaces(text) {
  const changes = [
    // Names of the library get a number if the program has the same name.
    [
      /\b__export=\((\w+),(\w+)\)=>\{for\(var (\w+) in \2\)\s*__defProp\(\1,\3,\{get:\2\[\3\],enumerable:!0\}\)\}/,
      '__export=__addNamespace',
    ],
    [
      /\b__toCommonJS=(\w+)=>__copyProps\(\s*__defProp\(\{\},"__esModule",\{value:!0\}\),\s*\1\)/,
      '__toCommonJS=__namespace',
    ],
  ]
  for (const [found, replacement] of changes) {
    // Helpers of the bundler come first.
    const at = text.search(found)
    if (at < 0 || at > 5_000) throw new Error(`The bundler has other helpers: change ${found} in program-bundle.mjs.`)
    text = text.replace(found, replacement)
  }
  return `const __waiting=new Map(),__addNamespace=(target,all)=>{__waiting.set(target,all)},__namespace=(target)=>{
const all=__waiting.get(target);if(all!==undefined){__waiting.delete(target);for(const name in all)Object.defineProperty(target,name,{get:all[name],enumerable:true})}return target};
${text}`
}

/** Builtins that many starts do not use and that load others with them. Each is loaded on first use. */
function lazyBuiltins(text) {
  const found = /=require\("(node:(?:child_process|crypto|module|timers\/promises))"\)/g
  if (!found.test(text)) throw new Error(`${found} is not there: change program-bundle.mjs.`)
  return `const __now=()=>process.uptime()*1e3,__lazy=(name)=>{let found;return new Proxy({},{get:(_,key)=>(found??=require(name))[key]})};
${text.replaceAll(found, '=__lazy("$1")')}`
}

/**
 * A function of what bin/halting.js gives. Each import() goes there: in a script of `vm` it would be experimental, and with code from a cache it fails. In short
 * lines: Node prints the line of an error that nobody caught.
 */
async function asScript(text) {
  const { module, errors } = parseSync('script.js', text)
  if (errors.length > 0) throw new Error(errors[0].message)
  let body = ''
  let at = 0
  for (const { start } of module.dynamicImports) {
    body += `${text.slice(at, start)}__import`
    at = start + 'import'.length
  }
  body += text.slice(at)
  const { code } = await transform(`(function(exports,require,module,__import,__urlOf){'use strict';${body}\n})`, {
    minifyWhitespace: true,
    lineLimit: 200,
  })
  return asAscii(code)
}

/**
 * The same script in ASCII: bin/halting.js reads it as Latin-1, which V8 takes without decoding. esbuild escapes strings and names, but leaves regular expressions and raw
 * templates as they are.
 * @throws for a raw template that is not ASCII, and for a backslash before such a character in a regular expression: an escape would change their values.
 */
function asAscii(text) {
  if (isAscii(text)) return text
  let ascii = ''
  let at = 0
  const visitor = new Visitor({
    Literal({ regex, start, end }) {
      if (regex === undefined) return
      ascii += text.slice(at, start) + text.slice(start, end).replaceAll(/(?<!\\)[^\0-\x7F]/g, escaped)
      at = end
    },
  })
  visitor.visit(parseSync('script.js', text).program)
  ascii += text.slice(at)
  const [found] = /.{0,40}[^\0-\x7F].{0,40}/.exec(ascii) ?? []
  if (found !== undefined) throw new Error(`A script of the program has to be ASCII: write \\u escapes in ${found}`)
  return ascii
}

const isAscii = (text) => !/[^\0-\x7F]/.test(text)

/** Half of a surrogate pair becomes an escape of its own: two of them in a row count as the whole character. */
const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Each script begins with an identifier of this build, so that a cache of another build is not used. */
function withBuild(files) {
  const hash = createHash('sha256')
  for (const { name, contents } of files.toSorted((one, other) => (one.name < other.name ? -1 : 1)))
    hash.update(`${name}\0${contents}\0`)
  const id = hash.digest('hex').slice(0, 32)
  return files.map(({ name, contents }) => ({
    name,
    contents: name === 'start.cjs' ? `/*${id}*/${contents}` : contents,
  }))
}
