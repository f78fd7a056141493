// The figures of structure.mjs, each a function of a tree of sources (tree.mjs).
import { posix } from 'node:path'
import { walk } from './tree.mjs'

/** @typedef {import('./tree.mjs').Tree} Tree */

/** @param {Tree} tree */
export function filesAndFolders({ files }) {
  return { files: files.size, folders: new Set([...files.keys()].map((path) => posix.dirname(path))).size }
}

/** Files that one other file imports, with at most 60 lines: candidates for being part of it. Entries do not count. @param {Tree} tree */
export function smallFilesWithOneImporter({ files, entries }, maxLines = 60) {
  const importers = new Map([...files.keys()].map((path) => [path, new Set()]))
  for (const { path, imports } of files.values())
    for (const { path: target } of imports) if (target !== path) importers.get(target)?.add(path)
  return [...files.values()]
    .filter(({ path, lines }) => lines <= maxLines && !entries.has(path) && importers.get(path).size === 1)
    .map(({ path }) => path)
}

/**
 * The rooms of a source folder in layers. A room is a folder directly below it with everything in it, or a file directly in it. The order is that of the greedy heuristic of
 * Eades, Lin and Smyth for feedback arc sets; weights are the numbers of importing pairs of files. Rooms without further imports go last, and rooms without further importers go
 * first. Otherwise the room whose exports and imports differ most goes first; names decide a tie. Upward are the pairs of files that import against this order; the floors are
 * the longest chain of rooms along the other imports.
 * @param {Tree} tree @param {string} folder
 */
export function layers({ files }, folder) {
  const inside = [...files.values()].filter(({ path }) => path.startsWith(`${folder}/`))
  const room = (path) => path.slice(folder.length + 1).split('/', 1)[0]
  const weights = new Map(inside.map(({ path }) => [room(path), new Map()]))
  for (const { path, imports } of inside) {
    for (const target of new Set(imports.map((each) => each.path))) {
      if (target === undefined || !target.startsWith(`${folder}/`) || room(target) === room(path)) continue
      const row = weights.get(room(path))
      row.set(room(target), (row.get(room(target)) ?? 0) + 1)
    }
  }
  const order = layeredOrder(weights)
  const place = new Map(order.map((name, index) => [name, index]))
  const depths = new Map()
  let upward = 0
  for (const name of order.toReversed()) {
    let depth = 1
    for (const [target, weight] of weights.get(name)) {
      if (place.get(target) > place.get(name)) depth = Math.max(depth, depths.get(target) + 1)
      else upward += weight
    }
    depths.set(name, depth)
  }
  return { rooms: order.length, floors: Math.max(0, ...depths.values()), upward, order }
}

/** @param {ReadonlyMap<string, ReadonlyMap<string, number>>} weights For each room the rooms that it imports. @returns {string[]} Importers first. */
function layeredOrder(weights) {
  const left = new Set([...weights.keys()].toSorted())
  const first = []
  const last = []
  const out = (name) => sum([...weights.get(name)].map(([target, weight]) => (left.has(target) ? weight : 0)))
  const into = (name) => sum([...left].map((importer) => weights.get(importer).get(name) ?? 0))
  const take = (name, place) => {
    left.delete(name)
    place(name)
  }
  while (left.size > 0) {
    for (let isChanged = true; isChanged;) {
      isChanged = false
      for (const name of left) {
        if (out(name) === 0) take(name, (each) => last.unshift(each))
        else if (into(name) === 0) take(name, (each) => first.push(each))
        else continue
        isChanged = true
      }
    }
    const [next] = [...left].toSorted((one, other) => out(other) - into(other) - (out(one) - into(one)))
    if (next !== undefined) take(next, (each) => first.push(each))
  }
  return [...first, ...last]
}

/** Files that call one of these functions and do not declare it. @param {Tree} tree @param {readonly string[]} wiring */
export function sessionBuilders({ files }, wiring) {
  return [...files.values()]
    .filter(({ program }) => {
      const called = new Set()
      walk(program, (node) => {
        if (node.type === 'CallExpression' && node.callee.type === 'Identifier') called.add(node.callee.name)
      })
      return wiring.some((name) => called.has(name)) && !declares(program, wiring)
    })
    .map(({ path }) => path)
}

/**
 * Files that import a function that reads recorded sessions, and import or declare one that computes sums or models.
 * @param {Tree} tree @param {{ readers: readonly string[], models: readonly string[] }} names
 */
export function filesThatReadSessions({ files }, { readers, models }) {
  return [...files.values()]
    .filter(({ program, imports }) => {
      const imported = imports.filter(({ isReexport }) => !isReexport).flatMap(({ names }) => names)
      const isModel = imported.some((name) => models.includes(name)) || declares(program, models)
      return isModel && imported.some((name) => readers.includes(name))
    })
    .map(({ path }) => path)
}

/** The packages of these files, in alphabetical order. @param {readonly string[]} paths */
export function packagesOf(paths) {
  return [...new Set(paths.map((path) => path.split('/')[1]))].toSorted((one, other) => (one < other ? -1 : 1))
}

/** Whether a function of one of these names is declared at the top of a file. */
function declares(program, names) {
  return program.body.some((node) => {
    const declaration = node.declaration ?? node
    return declaration.type === 'FunctionDeclaration' && names.includes(declaration.id?.name)
  })
}

/**
 * Tables with a row for each member of a union, or for some: constants of the type `{ [reason in Union]: … }` or `Record<Union, …>`, whole or
 * optional, constants that satisfy such a type, and switches over at least half of its members.
 * @param {Tree} tree @param {string} union Name of the type. @returns {string[]} `path: name of the constant`, or `path: switch`.
 */
export function tablesOf({ files }, union) {
  const members = membersOf(files, union)
  return [...files.values()].flatMap(({ path, program, text }) => {
    if (!text.includes(union) && !members.some((member) => text.includes(`'${member}'`))) return []
    const tables = []
    walk(program, (node) => {
      if (node.type === 'VariableDeclarator' && isTable(node, union)) tables.push(`${path}: ${node.id.name}`)
      if (node.type === 'SwitchStatement') {
        const cases = node.cases.filter(({ test }) => test?.type === 'Literal' && members.includes(test.value))
        if (members.length > 0 && 2 * cases.length >= members.length) tables.push(`${path}: switch`)
      }
    })
    return tables
  })
}

function isTable({ id, init }, union) {
  const satisfied = init?.type === 'TSSatisfiesExpression' ? init.typeAnnotation : undefined
  return [id.typeAnnotation?.typeAnnotation, satisfied].some((type) => isMapped(type, union))
}

/** Looks below `Readonly<…>` and `Partial<…>`, too. */
function isMapped(type, union) {
  if (type?.type === 'TSMappedType') return isNamed(type.constraint, union)
  if (type?.type !== 'TSTypeReference') return false
  const [first] = type.typeArguments?.params ?? []
  return type.typeName.name === 'Record' ? isNamed(first, union) : isMapped(first, union)
}

function isNamed(type, name) {
  return type?.type === 'TSTypeReference' && type.typeName.name === name
}

/** @param {Tree['files']} files @param {string} union */
function membersOf(files, union) {
  for (const { program } of files.values()) {
    for (const node of program.body) {
      const { type, id, typeAnnotation } = node.declaration ?? node
      if (type !== 'TSTypeAliasDeclaration' || id.name !== union || typeAnnotation.type !== 'TSUnionType') continue
      return typeAnnotation.types.flatMap((each) => each.literal?.value ?? [])
    }
  }
  return []
}

/** How often these words occur in sources as words of their own, in any case. @param {Tree} tree @param {readonly string[]} words */
export function occurrencesOf({ files }, words) {
  const pattern = new RegExp(`\\b(?:${words.join('|')})\\b`, 'gi')
  return sum([...files.values()].map(({ text }) => text.match(pattern)?.length ?? 0))
}

/** @param {Tree} tree */
export function largestFile({ files }) {
  const [largest] = [...files.values()].toSorted((one, other) => other.lines - one.lines)
  return { path: largest?.path, lines: largest?.lines ?? 0 }
}

const functionTypes = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'])

/** Functions with more lines than this, from their first word to their closing brace. @param {Tree} tree @returns {{ name: string, lines: number }[]} */
export function longFunctions({ files }, maxLines = 70) {
  return [...files.values()].flatMap(({ path, program, text }) => {
    const found = []
    walk(program, (node, parents) => {
      if (!functionTypes.has(node.type)) return
      const lines = text.slice(node.start, node.end).split('\n').length
      if (lines > maxLines) found.push({ name: `${path}: ${nameOf(node, parents.at(-1))}`, lines })
    })
    return found
  })
}

function nameOf(node, parent) {
  const named = node.id ?? parent?.id ?? parent?.key
  return named?.name ?? 'unnamed'
}

/** The largest of these documents. @param {ReadonlyMap<string, number>} sizes Bytes by path. */
export function largestDocument(sizes) {
  const [[path, bytes] = [undefined, 0]] = [...sizes].toSorted(([, one], [, other]) => other - one)
  return { path, bytes }
}

function sum(numbers) {
  return numbers.reduce((total, each) => total + each, 0)
}
