// A tree of sources in memory: each file with its text, its syntax tree and its imports. The figures of structure.mjs are functions of such a tree.
import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { parseSync } from 'oxc-parser'

/**
 * @typedef {object} Import
 * @property {string | undefined} path The imported file, where it is part of the tree.
 * @property {readonly string[]} names Names as the imported file exports them.
 * @property {boolean} isReexport
 */

/**
 * @typedef {object} SourceFile
 * @property {string} path From the root of the repository, with `/`.
 * @property {string} text
 * @property {number} lines
 * @property {import('oxc-parser').Program} program
 * @property {readonly Import[]} imports Static and dynamic ones, types as well as values.
 */

/**
 * @typedef {object} Tree
 * @property {ReadonlyMap<string, SourceFile>} files By path.
 * @property {ReadonlySet<string>} entries The files that other packages, Node or a browser load by name.
 */

/**
 * @param {ReadonlyMap<string, string>} texts Contents of source files and of `packages/NAME/package.json`, by path.
 * @param {readonly string[]} [moreEntries] Files that are started although no `exports` names them.
 * @returns {Tree}
 */
export function treeOf(texts, moreEntries = []) {
  const byName = packageEntries(texts)
  const paths = [...texts.keys()].filter((path) => /\.tsx?$/.test(path))
  const files = new Map(paths.map((path) => [path, sourceFile(path, texts, byName)]))
  const entries = new Set([...byName.values(), ...moreEntries])
  return { files, entries }
}

/** Reads the sources of packages from the disk. @param {URL} root @param {readonly string[]} packages */
export function readTexts(root, packages) {
  const read = (path) => [path, readFileSync(new URL(path, root), 'utf8')]
  const sources = (name) =>
    readdirSync(new URL(`packages/${name}/src`, root), { recursive: true })
      .filter((path) => /\.tsx?$/.test(path))
      .map((path) => `packages/${name}/src/${path.replaceAll('\\', '/')}`)
      .toSorted()
  return new Map(packages.flatMap((name) => [`packages/${name}/package.json`, ...sources(name)].map(read)))
}

/** Each name that a package can be imported by, and its source file. @param {ReadonlyMap<string, string>} texts */
function packageEntries(texts) {
  const entries = new Map()
  for (const [path, text] of texts) {
    if (!path.endsWith('/package.json')) continue
    const { name, exports = {} } = JSON.parse(text)
    for (const [key, target] of Object.entries(exports)) {
      const modules = target.import ?? target
      const file = typeof modules === 'string' ? modules : (modules.types ?? modules.default)
      const source = posix.join(
        posix.dirname(path),
        file.replace(/^\.\/dist\//, './src/').replace(/(?:\.d\.ts|\.js)$/, '.ts'),
      )
      if (texts.has(source)) entries.set(posix.join(name, key), source)
    }
  }
  return entries
}

/** @returns {SourceFile} */
function sourceFile(path, texts, byName) {
  const text = texts.get(path)
  const { program, module, errors } = parseSync(path, text)
  if (errors.length > 0) throw new Error(`${path}: ${errors[0].message}`)
  const resolve = (specifier) => {
    if (!specifier.startsWith('.')) return byName.get(specifier)
    const target = posix.join(posix.dirname(path), specifier)
    return texts.has(target) ? target : undefined
  }
  const statics = module.staticImports.map(({ moduleRequest, entries }) => ({
    path: resolve(moduleRequest.value),
    names: entries.flatMap(({ importName }) => importName.name ?? []),
    isReexport: false,
  }))
  const reexports = module.staticExports.flatMap(({ entries }) =>
    entries.flatMap(({ moduleRequest, importName }) =>
      moduleRequest === null
        ? []
        : [{ path: resolve(moduleRequest.value), names: importName.name ? [importName.name] : [], isReexport: true }],
    ),
  )
  const dynamics = module.dynamicImports.map(({ moduleRequest: { start, end } }) => ({
    path: resolve(text.slice(start + 1, end - 1)),
    names: [],
    isReexport: false,
  }))
  return { path, text, lines: lineCount(text), program, imports: [...statics, ...reexports, ...dynamics] }
}

/** @param {string} text */
function lineCount(text) {
  return text.trimEnd().split('\n').length
}

/** Calls `visit` for a node and all nodes below it. @param {unknown} node @param {(node: Record<string, any>, parents: readonly Record<string, any>[]) => void} visit */
export function walk(node, visit, parents = []) {
  if (Array.isArray(node)) {
    for (const each of node) walk(each, visit, parents)
    return
  }
  if (node === null || typeof node !== 'object') return
  if (typeof node.type === 'string') visit(node, parents)
  const below = typeof node.type === 'string' ? [...parents, node] : parents
  for (const [key, value] of Object.entries(node))
    if (key !== 'parent' && typeof value === 'object') walk(value, visit, below)
}
