// packages/NAME/public-names.md lists what each library exports, entry by entry, with the first sentence of its doc comment. So reviewers see changes of public names
// as a difference. Fails if a list does not match the sources, and for a name without a doc comment. `--write` writes the lists anew.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { parseSync } from 'oxc-parser'
import { entriesOf, manifestOf, publishedPackages, report, root } from './packages.mjs'

/** @typedef {{ name: string, isType: boolean, doc: string | undefined }} Exported */

const entryFiles = new Map(
  publishedPackages.flatMap((name) =>
    entriesOf(name).map(({ specifier, path }) => [specifier, new URL(`packages/${name}/src/${path}.ts`, root)]),
  ),
)

const parsed = new Map()

/** @param {URL} file */
function parse(file) {
  if (!parsed.has(file.pathname)) {
    const text = readFileSync(file, 'utf8')
    const { program, comments, errors } = parseSync(file.pathname, text)
    if (errors.length > 0) throw new Error(`${file.pathname}: ${errors[0].message}`)
    const docs = comments.filter(({ type, value }) => type === 'Block' && value.startsWith('*'))
    // A comment that only has tags does not describe the name.
    const docOf = ({ start }) =>
      docs.find(({ end, value }) => end <= start && text.slice(end, start).trim() === '' && sentenceOf(value) !== '')
        ?.value
    parsed.set(file.pathname, { program, docOf })
  }
  return parsed.get(file.pathname)
}

/** The exports of a file, in the order of its source. @param {URL} file @returns {Exported[]} */
function exportsOf(file) {
  const { program, docOf } = parse(file)
  return program.body.flatMap((node) => {
    if (node.type === 'ExportAllDeclaration') return exportsOf(targetOf(node.source.value, file))
    if (node.type !== 'ExportNamedDeclaration') return []
    const { declaration, specifiers, source } = node
    if (declaration) return declaredIn(node, declaration, docOf)
    return specifiers.map(({ local, exported, exportKind }) => {
      const found = source === null ? localOf(local.name, file) : namedIn(local.name, targetOf(source.value, file))
      const isType = node.exportKind === 'type' || exportKind === 'type' || found.isType
      return { ...found, name: exported.name, isType }
    })
  })
}

/** @returns {Exported[]} */
function declaredIn(node, declaration, docOf) {
  const names = declaration.declarations?.map(({ id }) => id.name) ?? [declaration.id.name]
  const isType = ['TSInterfaceDeclaration', 'TSTypeAliasDeclaration'].includes(declaration.type)
  return names.map((name) => ({ name, isType, doc: docOf(node) }))
}

/** The file that an import specifier names. Undefined for packages that are not part of this repository. */
function targetOf(specifier, file) {
  return specifier.startsWith('.') ? new URL(specifier, file) : entryFiles.get(specifier)
}

function namedIn(name, file) {
  return together(name, file === undefined ? [] : exportsOf(file).filter((each) => each.name === name))
}

/** Merges a type and a value of one name, or overloads of a function. The documented one counts. @param {Exported[]} all @returns {Exported} */
function together(name, all) {
  return {
    name,
    isType: all.length > 0 && all.every(({ isType }) => isType),
    doc: all.find(({ doc }) => doc !== undefined)?.doc,
  }
}

/** A name that a file exports by a list is declared in it, or imported. */
function localOf(name, file) {
  const { program, docOf } = parse(file)
  for (const node of program.body) {
    if (node.type === 'ImportDeclaration') {
      const specifier = node.specifiers.find(({ local }) => local.name === name)
      if (specifier) return namedIn(specifier.imported?.name ?? name, targetOf(node.source.value, file))
    } else if (node.id?.name === name || node.declarations?.some(({ id }) => id.name === name))
      return declaredIn(node, node, docOf).find((each) => each.name === name)
  }
  return { name, isType: false, doc: undefined }
}

/** Each name once, in alphabetical order, types after values. */
function namesOf(file) {
  const all = exportsOf(file)
  return [...new Set(all.map(({ name }) => name))]
    .map((name) =>
      together(
        name,
        all.filter((each) => each.name === name),
      ),
    )
    .toSorted((one, other) => Number(one.isType) - Number(other.isType) || (one.name < other.name ? -1 : 1))
}

/** The first sentence of a doc comment, on one line. */
function sentenceOf(doc) {
  const text = doc
    .slice(1)
    .split('\n')
    .map((line) => line.replace(/^\s*\* ?/, '').trim())
    .join('\n')
    .split(/\n\n|(?:^|\s)@(?:param|returns|throws|example|see|deprecated)\b/)[0]
    .replaceAll(/\s+/g, ' ')
    .trim()
  return /^.*?[.!?](?= [A-Z`]|$)/.exec(text)?.[0] ?? text
}

function listOf(name) {
  const { name: id } = manifestOf(name)
  const sections = entriesOf(name).map(({ specifier }) => {
    const rows = namesOf(entryFiles.get(specifier)).map(
      ({ name: each, isType, doc }) =>
        `- ${isType ? 'type ' : ''}\`${each}\`: ${doc === undefined ? 'NOT DOCUMENTED' : sentenceOf(doc)}`,
    )
    return `## ${specifier}\n\n${rows.join('\n')}\n`
  })
  return `# Public names of ${id}\n\nWritten by \`node scripts/public-names.mjs --write\` from the doc comments.\n\n${sections.join('\n')}`
}

const isWriting = process.argv.includes('--write')
let seen = 0
const libraries = publishedPackages.filter((name) => entriesOf(name).length > 0)
const problems = libraries.flatMap((name) => {
  const file = new URL(`packages/${name}/public-names.md`, root)
  const list = listOf(name)
  if (isWriting) writeFileSync(file, list)
  seen += list.split('\n- ').length - 1
  const bare = [...list.matchAll(/`(.*)`: NOT DOCUMENTED/g)].map(([, each]) => `${name}: ${each} has no doc comment`)
  const isCurrent = existsSync(file) && readFileSync(file, 'utf8') === list
  return isCurrent ? bare : [...bare, `packages/${name}/public-names.md is not that of the sources: run npm run names`]
})

report('public names', seen, problems)
