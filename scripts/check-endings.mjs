// The one table of endings has everything that the program knows about an ending. Elsewhere, there is no record by reason or by category,
// no switch over reasons and no list of them: people would forget such a second table when they add an ending.
import { readFileSync } from 'node:fs'
import { parseSync, Visitor } from 'oxc-parser'
import { packages, report, root, sourceFiles } from './packages.mjs'

const room = 'packages/core/src/endings/'

/** Files with a table of their own, and the reason. */
const exceptions = {
  'packages/core/src/loop/decide.ts': 'The categories that no hook overrides are a rule of the decision, beside it.',
  'packages/explorer/src/answers.ts': 'What the guard of the explorer may raise.',
  'packages/telemetry/src/content.ts':
    'By category, whose sentences may be exported: a matter of privacy, not of an ending.',
  'packages/explorer/src/explore.ts': 'Counts paths by their ending.',
}

/** Types that name reasons of endings, or their categories. */
const reasonTypes = /\b(?:EndingReason|StopCategory)\b|\bRunResult\['reason'\]|\bkeyof typeof endings\b/

/** Whether a text is about core's reasons: other packages have a type of the same name for reasons that a model gives. */
const importsReasons =
  /import[^;]*?\b(?:EndingReason|StopCategory|RunResult|endings)\b[^;]*?from '(?:@halting\/core|[^']*\/(?:ending|reason|terminal|table)\.ts)'/

const reasons = reasonsIn(`${room}table.ts`)

function reasonsIn(path) {
  const names = new Set()
  const { program } = parseSync(path, textOf(path))
  new Visitor({
    VariableDeclarator({ id, init }) {
      if (id.name === 'endings') for (const { key } of init.properties) names.add(key.name)
    },
  }).visit(program)
  return names
}

function textOf(path) {
  return readFileSync(new URL(path, root), 'utf8')
}

/** At least two names: one alone may be an ordinary word, such as `error`. */
function areReasons(names) {
  const known = names.filter((name) => reasons.has(name))
  return known.length >= 2 && known.some((name) => name.includes('_'))
}

function tablesIn(path) {
  const text = textOf(path)
  const { program, errors } = parseSync(path, text)
  if (errors.length > 0) throw new Error(`${path}: ${errors[0].message}`)
  const isAboutReasons = importsReasons.test(text)
  const tables = []
  const add = ({ start }, what) => tables.push(`${path}:${text.slice(0, start).split('\n').length}: ${what}`)
  const isReasonType = ({ start, end }) => isAboutReasons && reasonTypes.test(text.slice(start, end))
  new Visitor({
    TSTypeReference(node) {
      const [key] = node.typeArguments?.params ?? []
      if (node.typeName.name === 'Record' && key !== undefined && isReasonType(key)) add(node, 'a record by reason')
    },
    TSMappedType(node) {
      if (isReasonType(node.constraint)) add(node, 'a record by reason')
    },
    SwitchStatement(node) {
      const names = node.cases.map(({ test }) => test?.value)
      if (areReasons(names) || isReasonOf(node.discriminant)) add(node, 'a switch over reasons')
    },
    LogicalExpression(node) {
      if (areReasons(comparedIn(node))) add(node, 'a list of reasons')
    },
    ArrayExpression(node) {
      if (areReasons(node.elements.map((element) => element?.value))) add(node, 'a list of reasons')
    },
    ObjectExpression(node) {
      if (areReasons(node.properties.map(({ key }) => key?.name ?? key?.value))) add(node, 'an object by reason')
    },
  }).visit(program)
  return tables
}

/** `reason === 'a' || reason === 'b'`: the texts it compares with. */
function comparedIn(node) {
  if (node.type === 'LogicalExpression') return [...comparedIn(node.left), ...comparedIn(node.right)]
  return node.type === 'BinaryExpression' && /^[!=]==$/.test(node.operator) ? [node.right.value, node.left.value] : []
}

/** `terminal.reason`. */
function isReasonOf({ type, object, property }) {
  return (
    type === 'MemberExpression' &&
    property.name === 'reason' &&
    /terminal|ending/i.test(object.name ?? object.property?.name ?? '')
  )
}

const files = packages.flatMap(sourceFiles).filter((path) => !path.startsWith(room))
const found = files.map((path) => [path, tablesIn(path)]).filter(([, tables]) => tables.length > 0)
const problems = found
  .filter(([path]) => exceptions[path] === undefined)
  .flatMap(([, tables]) => tables.map((table) => `${table}: put it into the rows of ${room}table.ts`))
for (const path of Object.keys(exceptions))
  if (!found.some(([file]) => file === path)) problems.push(`${path}: an exception that is no longer needed`)
if (reasons.size === 0) problems.push(`${room}table.ts: no table of endings`)

report('endings', files.length, problems)
