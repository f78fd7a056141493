// Tests that docs/guide/events.md has one row for each event of a run and each update of a model, with the text of their doc comments.
import { readFileSync, writeFileSync } from 'node:fs'
import { parseSync, type Comment, type TSType } from 'oxc-parser'
import { expect, test } from 'vitest'

const root = new URL('../../../', import.meta.url)
const guide = new URL('docs/guide/events.md', root)

interface Row {
  readonly name: string
  readonly isLive: boolean
  readonly fields: readonly string[]
  readonly meaning: string
}

/** The members of a union, each with its doc comment. */
function rowsOf(path: string, union: string): readonly Row[] {
  const source = readFileSync(new URL(path, root), 'utf8')
  const { program, comments, errors } = parseSync(path, source)
  expect(errors).toEqual([])
  for (const node of program.body) {
    const declaration = node.type === 'ExportNamedDeclaration' ? node.declaration : null
    if (declaration?.type !== 'TSTypeAliasDeclaration' || declaration.id.name !== union) continue
    if (declaration.typeAnnotation.type !== 'TSUnionType') break
    const members = declaration.typeAnnotation.types
    return members.map((member, index) => rowOf(member, members[index - 1]?.end ?? declaration.start, comments, source))
  }
  throw new Error(`${path} has no union ${union}.`)
}

function rowOf(member: TSType, after: number, comments: readonly Comment[], source: string): Row {
  const comment = comments.findLast(({ start, end }) => start >= after && end <= member.start)
  const fields = [...fieldsOf(member, source)]
  const name = fields.find((field) => field.startsWith('type: '))?.slice("type: '".length, -1) ?? ''
  const words = (comment?.value ?? '')
    .replaceAll(/^\s*\*+ ?/gm, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ \(spec R-[^)]*\)/g, '')
    .trim()
  const isLive = words.startsWith('Live: ')
  const meaning = isLive ? `${words.charAt(6).toUpperCase()}${words.slice(7)}` : words
  return { name, isLive, fields: fields.filter((field) => !field.startsWith('type: ')), meaning }
}

/** Names of the fields, with a question mark after optional ones, and the type of `type`. */
function* fieldsOf(type: TSType, source: string): Iterable<string> {
  if (type.type === 'TSParenthesizedType') yield* fieldsOf(type.typeAnnotation, source)
  else if (type.type === 'TSIntersectionType') for (const each of type.types) yield* fieldsOf(each, source)
  else if (type.type === 'TSTypeReference') yield* referred(source.slice(type.start, type.end))
  else if (type.type === 'TSTypeLiteral') {
    for (const member of type.members) {
      if (member.type !== 'TSPropertySignature' || member.key.type !== 'Identifier') continue
      const { name } = member.key
      const value = member.typeAnnotation?.typeAnnotation
      if (name === 'type' && value !== undefined) yield `type: ${source.slice(value.start, value.end)}`
      else yield member.optional ? `${name}?` : name
    }
  }
}

/** The one interface that events are made of. */
function referred(name: string): readonly string[] {
  expect(name).toBe('FundsWanted')
  return ['neededUsd', 'neededTokens', 'reservedUsd', 'reservedTokens', 'holders']
}

const cell = (text: string): string => text.replaceAll('|', String.raw`\|`)

function tableOf(rows: readonly Row[]): string {
  const lines = rows.map(({ name, isLive, fields, meaning }) => {
    const named = fields.map((field) => `\`${field}\``).join(', ')
    return `| \`${name}\` | ${isLive ? 'live' : ''} | ${cell(meaning)} | ${named} |\n`
  })
  return `| type | | meaning | fields |\n| --- | --- | --- | --- |\n${lines.join('')}`
}

const events = rowsOf('packages/core/src/state/events.ts', 'RunEvent')
const updates = rowsOf('packages/core/src/model/model.ts', 'ModelUpdate')

test.each([...events, ...updates])('$name has a description', ({ name, meaning }) => {
  expect(name).not.toBe('')
  expect(meaning).toMatch(/^[A-Z`].*[.:]$/)
})

/** Replaces the tables of a text: the first contains the events, the second the updates. */
function withTables(text: string): string {
  const tables = [tableOf(events), tableOf(updates)]
  return text.replaceAll(/^\| type \|[^]*?\n(?!\|)/gm, () => tables.shift() ?? '')
}

test('docs/guide/events.md has the tables of the code', () => {
  const text = readFileSync(guide, 'utf8')
  const wanted = withTables(text)
  if (process.env['HALTING_WRITE'] === '1') writeFileSync(guide, wanted)
  expect(readFileSync(guide, 'utf8')).toBe(wanted)
  expect(wanted).toContain('| `tool_end` |')
  expect(wanted).toContain('| `tool_input_delta` |')
})
