// Every member of a public type has a doc comment. No doc comment of a library names a rule of the spec or a decision by its number: editors and npm show these
// comments to people who have neither document. Put numbers in a `//` comment above the doc comment, which `.d.ts` files leave out.
//
// A member needs no doc comment
// - if its type is one literal, or null, or undefined: the value of a discriminant (`kind: 'text'`) says enough. The same applies to a `kind` or `type` of several literals;
// - in a class, if an interface or base class documents a member of that name: editors show that comment;
// - if it is private or protected;
// - in the pattern of a type: the argument of `Extract` or `Exclude`, or the condition of a conditional type.
//
// `--list` prints all members without one; `--list=PART` those of entries whose name contains PART. `--count` prints a table and always succeeds.
import { existsSync, readFileSync } from 'node:fs'
import { parseSync } from 'oxc-parser'
import { entriesOf, publishedPackages, report, root, sourceFiles } from './packages.mjs'

/**
 * @typedef {{ file: URL, node: any, statement: any }} Declaration `statement` is where its doc comment is: the export, or the declaration itself
 * @typedef {{ place: string, name: string }} Member
 */

const numbers = /\bR-[A-Z]+-\d+[a-z]?\b|\bspec(?:ification)? R-|\b(?:decision|seed) \d{3,4}\b|\bdocs\/decisions\b/i

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
    const docEnds = new Map(docs.map((each) => [each.end, each]))
    parsed.set(file.pathname, { text, program, docs, docEnds })
  }
  return parsed.get(file.pathname)
}

/** Whether a doc comment with words is directly before a node. */
function isDocumented(file, { start }) {
  const { text, docEnds } = parse(file)
  const doc = docEnds.get(text.slice(0, start).trimEnd().length)
  return doc !== undefined && /\w/.test(doc.value.replace(/^\s*\*?\s*@\w+\s*$/gm, ''))
}

const lineOf = (file, { start }) => parse(file).text.slice(0, start).split('\n').length

/** The file that an import specifier names. Undefined for packages that are not part of this repository. */
function targetOf(specifier, file) {
  return specifier.startsWith('.') ? new URL(specifier, file) : entryFiles.get(specifier)
}

/** Every declaration that a file exports. @returns {(Declaration & { exported: string })[]} */
function exportsOf(file) {
  return parse(file).program.body.flatMap((node) => {
    if (node.type === 'ExportAllDeclaration') return exportsOf(targetOf(node.source.value, file))
    if (node.type !== 'ExportNamedDeclaration') return []
    if (node.declaration)
      return namesIn(node.declaration).map((exported) => ({ exported, file, node: node.declaration, statement: node }))
    return node.specifiers.flatMap(({ local, exported }) => {
      const from = node.source === null ? file : targetOf(node.source.value, file)
      if (from === undefined) return []
      const found = node.source === null ? declarationsOf(local.name, file) : exportedAs(local.name, from)
      return found.map((each) => ({ ...each, exported: exported.name }))
    })
  })
}

const namesIn = (declaration) => declaration.declarations?.map(({ id }) => id.name) ?? [declaration.id.name]

function exportedAs(name, file) {
  return exportsOf(file).filter(({ exported }) => exported === name)
}

/** The declarations of a name in a file, or in the file that it is imported from. @returns {Declaration[]} */
function declarationsOf(name, file) {
  return parse(file).program.body.flatMap((statement) => {
    if (statement.type === 'ImportDeclaration') {
      const specifier = statement.specifiers.find(({ local }) => local.name === name)
      const target = specifier && targetOf(statement.source.value, file)
      return target ? exportedAs(specifier.imported?.name ?? name, target) : []
    }
    const node = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
    return node && (node.id?.name === name || node.declarations?.some(({ id }) => id.name === name))
      ? [{ file, node, statement }]
      : []
  })
}

const literals = new Set(['TSLiteralType', 'TSNullKeyword', 'TSUndefinedKeyword'])

/** `kind: 'text'`, or several such members at once: `type: 'text-start' | 'text-end'`. */
function isDiscriminant({ key, typeAnnotation }) {
  const type = typeAnnotation?.typeAnnotation
  const isOfUnion = ['kind', 'type'].includes(key?.name) && type?.type === 'TSUnionType'
  return literals.has(type?.type) || (isOfUnion && type.types.every((each) => literals.has(each.type)))
}

/** @returns {Generator<Member>} */
function* membersWithout({ file, node }) {
  if (node.type === 'ClassDeclaration') return yield* classMembersWithout(file, node)
  if (node.type === 'TSInterfaceDeclaration') {
    for (const { expression } of node.extends)
      if (expression.type === 'Identifier') yield* basesWithout(expression.name, file)
  }
  yield* signaturesWithout(file, node.type === 'TSInterfaceDeclaration' ? node.body : node, node.id?.name ?? '')
}

const declared = new Set()

/** Members of a base that is not exported are members of a public type nevertheless. */
function* basesWithout(name, file) {
  for (const each of declarationsOf(name, file)) yield* onceWithout(each)
}

function* onceWithout(declaration) {
  const key = `${declaration.file.pathname}:${declaration.node.start}`
  if (declared.has(key)) return
  declared.add(key)
  yield* membersWithout(declaration)
}

/** Bodies and values are not visible to users. */
const unseen = new Set(['BlockStatement', 'FunctionBody', 'TSTypePredicate'])

/** Members of every type literal below a node. */
function* signaturesWithout(file, node, path) {
  if (node === null || typeof node !== 'object') return
  if (Array.isArray(node)) {
    for (const each of node) yield* signaturesWithout(file, each, path)
    return
  }
  if (unseen.has(node.type) || isChoice(node)) return
  if (node.type === 'TSConditionalType') {
    yield* signaturesWithout(file, [node.trueType, node.falseType], path)
    return
  }
  if (node.type === 'VariableDeclarator') {
    yield* signaturesWithout(file, node.id.typeAnnotation, node.id.name)
    if (node.init?.type === 'ArrowFunctionExpression')
      yield* signaturesWithout(file, [node.init.params, node.init.returnType], node.id.name)
    return
  }
  if (node.type === 'TSPropertySignature' || node.type === 'TSMethodSignature') {
    const name = `${path}.${node.key?.name ?? node.key?.value ?? '?'}`
    counted.add(`${file.pathname}:${node.start}`)
    if (!isDiscriminant(node) && !isDocumented(file, node))
      yield { place: `${file.pathname.slice(root.pathname.length)}:${lineOf(file, node)}`, name, file, node }
    yield* signaturesWithout(file, [node.typeAnnotation, node.params, node.returnType], name)
    return
  }
  for (const [key, each] of Object.entries(node))
    if (key !== 'key' && key !== 'id' && typeof each === 'object') yield* signaturesWithout(file, each, path)
}

/** `Extract<Union, { kind: 'a' }>`: a choice among types that are documented where they are declared. */
const isChoice = ({ type, typeName }) => type === 'TSTypeReference' && ['Extract', 'Exclude'].includes(typeName.name)

/** The location of each member that was checked. */
const counted = new Set()

/** @returns {Generator<Member>} */
function* classMembersWithout(file, node) {
  const className = node.id?.name ?? ''
  const inherited = inheritedBy(file, node)
  for (const member of node.body.body) {
    if (!isPublic(member)) continue
    if (member.kind === 'constructor') {
      for (const param of member.value.params)
        if (param.type === 'TSParameterProperty' && isPublic(param)) yield* oneWithout(param, param.parameter.name)
      yield* signaturesWithout(file, member.value.params, className)
    } else if (member.key) {
      if (!inherited.has(member.key.name)) yield* oneWithout(member, member.key.name)
      yield* signaturesWithout(file, [member.typeAnnotation, member.value?.params, member.value?.returnType], className)
    }
  }
  function* oneWithout(member, name) {
    counted.add(`${file.pathname}:${member.start}`)
    if (
      isDocumented(file, member) ||
      member.value?.type === 'Literal' ||
      literals.has(member.typeAnnotation?.typeAnnotation?.type)
    )
      return
    if (member.kind === 'get' || member.kind === 'set' || member.value?.type?.startsWith('TS')) {
      const twins = node.body.body.filter((each) => each.key?.name === name)
      if (twins.some((each) => isDocumented(file, each))) return
    }
    yield {
      place: `${file.pathname.slice(root.pathname.length)}:${lineOf(file, member)}`,
      name: `${className}.${name}`,
      file,
      node: member,
    }
  }
}

const isPublic = (member) =>
  member.accessibility !== 'private' && member.accessibility !== 'protected' && member.key?.type !== 'PrivateIdentifier'

/** Names of members that a base class or interface of a class documents. */
function inheritedBy(file, node) {
  const bases = [...(node.implements ?? []).map(({ expression }) => expression), node.superClass].filter(
    (each) => each?.type === 'Identifier',
  )
  return new Set(
    bases.flatMap(({ name }) => [...documentedOf(name, file)]).concat(isErrorBased(node) ? ['name', 'code'] : []),
  )
}

const isErrorBased = (node) => node.superClass?.name?.endsWith('Error') ?? false

function documentedOf(name, file) {
  return declarationsOf(name, file).flatMap(({ file: from, node }) => {
    const own = (node.body?.body ?? [])
      .filter((each) => each.key?.name && isDocumented(from, each))
      .map(({ key }) => key.name)
    const bases = [
      ...(node.extends ?? []).map(({ expression }) => expression),
      ...(node.implements ?? []).map(({ expression }) => expression),
      node.superClass,
    ].filter((each) => each?.type === 'Identifier')
    return [...own, ...bases.flatMap((each) => documentedOf(each.name, from))]
  })
}

/** Doc comments of a library that contain such numbers, whether or not they are published today. */
function commentsWithNumbers(name) {
  return sourceFiles(name).flatMap((path) => {
    const file = new URL(path, root)
    return parse(file)
      .docs.filter(({ value }) => numbers.test(value))
      .map((doc) => ({ place: `${path}:${lineOf(file, doc)}`, found: numbers.exec(doc.value)?.[0] }))
  })
}

const libraries = publishedPackages.filter((name) => entriesOf(name).length > 0)
const rows = libraries.flatMap((name) =>
  entriesOf(name).map(({ specifier }) => {
    const before = counted.size
    const file = entryFiles.get(specifier)
    const without = existsSync(file) ? exportsOf(file).flatMap((each) => [...onceWithout(each)]) : []
    return { specifier, members: counted.size - before, without }
  }),
)
const numbered = libraries.map((name) => ({ name, found: commentsWithNumbers(name) }))

const flag = process.argv.find((each) => each.startsWith('--list'))
if (process.argv.includes('--count')) {
  for (const { specifier, members, without } of rows)
    console.log(`${specifier}: ${members} members, ${without.length} without a doc comment`)
  for (const { name, found } of numbered) console.log(`${name}: ${found.length} doc comments with numbers`)
  console.log(
    `total: ${counted.size} members, ${rows.flatMap(({ without }) => without).length} without; ${numbered.flatMap(({ found }) => found).length} with numbers`,
  )
} else {
  const wanted = flag?.split('=')[1] ?? ''
  const problems = rows
    .filter(({ specifier }) => specifier.includes(wanted))
    .flatMap(({ without }) => without.map(({ place, name }) => `${place}: ${name} has no doc comment`))
  const numberProblems = numbered.flatMap(({ found }) =>
    found.map(({ place, found: number }) => `${place}: the doc comment has ${number}: put it into a // comment above`),
  )
  report('doc comments of public members', counted.size, [...problems, ...numberProblems])
}
