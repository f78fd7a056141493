// What @halting/core exports is chosen, counted and documented: every name of an entry has a doc comment, and the main entry stays small.
import { readFileSync } from 'node:fs'
import { parseSync } from 'oxc-parser'
import { entriesOf, report, root } from './packages.mjs'

/** Most names that the main entry may export. */
const limit = 120

const core = new URL('packages/core/src/', root)
const entries = entriesOf('core')
  .filter(({ path }) => !path.startsWith('testing/'))
  .map(({ path }) => new URL(`${path}.ts`, core))

/** @typedef {{ name: string, file: URL, isDocumented: boolean }} Exported */

/** The names that a file exports: all, or those that are asked for. @param {URL} file @param {ReadonlySet<string>} [asked] @returns {Exported[]} */
function exportsOf(file, asked) {
  const text = readFileSync(file, 'utf8')
  const { program, comments, errors } = parseSync(file.pathname, text)
  if (errors.length > 0) throw new Error(`${file.pathname}: ${errors[0].message}`)
  const isDocumented = ({ start }) =>
    comments.some(
      (comment) =>
        comment.type === 'Block' &&
        comment.value.startsWith('*') &&
        comment.end <= start &&
        text.slice(comment.end, start).trim() === '',
    )
  return program.body.flatMap((node) => {
    if (node.type === 'ExportAllDeclaration') throw new Error(`${file.pathname}: an entry names what it exports`)
    if (node.type !== 'ExportNamedDeclaration') return []
    if (node.source)
      return exportsOf(new URL(node.source.value, file), new Set(node.specifiers.map(({ local }) => local.name)))
    const { declaration } = node
    if (!declaration) return []
    const names = declaration.declarations?.map(({ id }) => id.name) ?? [declaration.id.name]
    return names
      .filter((name) => asked === undefined || asked.has(name))
      .map((name) => ({ name, file, isDocumented: isDocumented(node) }))
  })
}

let seen = 0
const problems = entries.flatMap((entry) => {
  const exported = exportsOf(entry)
  const names = [...new Set(exported.map(({ name }) => name))]
  seen += names.length
  const bare = names
    .filter((name) => !exported.some((each) => each.name === name && each.isDocumented))
    .map((name) => `${entry.pathname.slice(root.pathname.length)}: ${name} has no doc comment`)
  const isMain = entry === entries[0]
  return isMain && names.length > limit
    ? [...bare, `the main entry exports ${names.length} names, and ${limit} are the most`]
    : bare
})

report('public names', seen, problems)
