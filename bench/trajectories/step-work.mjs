// What recorded steps did to files: lines that they changed, and checks that they ran. For steps with texts the product judges the command.
import { commandChanges, commandWork } from '@halting/agent'
import { parseCutJson } from '../lib/cut-json.mjs'

/** Classes of SWE-bench Pro, whose steps have no texts. How many lines a step changed is not known: 3 stand for it, as many as a question needs. */
const classes = {
  change: ['edit-source', 'insert-source', 'create-file', 'create-file-via-inline-script', 'edit-via-inline-script', 'apply-patch', 'undo-edit', 'edit-test-or-repro', 'create-test-script', 'create-verify-script', 'create-repro-script'],
  check: ['run-test-suite', 'run-test-specific', 'compile-build', 'syntax-check', 'run-verify-script', 'run-inline-verify', 'run-custom-script', 'run-repro-script', 'run-inline-snippet'],
  failedCheck: ['run-test-suite(failed)', 'run-script(failed)'],
}
const linesOfClass = 3

/** @param {string} kind @returns {import('@halting/core').FileWork | undefined} */
function workOfClass(kind) {
  if (classes.change.includes(kind)) return { changedLines: linesOfClass }
  if (classes.check.includes(kind)) return { check: { command: kind, passed: true } }
  return classes.failedCheck.includes(kind) ? { check: { command: kind, passed: false } } : undefined
}

const shells = new Set(['bash', 'Bash'])
const editors = new Set(['Edit', 'Write', 'MultiEdit', 'NotebookEdit'])

/**
 * Inputs of the calls of one step, in their order: several calls are a list. `isCut` where what is behind was not recorded.
 * @param {import('./load.mjs').Step} step
 */
function callsOf({ tool, input }) {
  const isCut = input.len > input.s.length
  if (tool === 'bash') return [{ name: tool, input: { command: input.s }, isCut }]
  const names = tool.split('+')
  // Some harnesses wrote their calls as Python does.
  if (!names.some((name) => shells.has(name) || editors.has(name)) || /^\{'/.test(input.s)) return []
  const { value } = parseCutJson(input.s)
  const inputs = names.length > 1 && Array.isArray(value) ? value : [value]
  return names.flatMap((name, index) => {
    const given = inputs[index]
    return given === null || typeof given !== 'object' ? [] : [{ name, input: given, isCut: isCut && index === inputs.length - 1 }]
  })
}

/** A command whose end is missing, closed: a here-document or a quote that was open. @param {string} command */
export function closedCommand(command) {
  const [, , delimiter] = [...command.matchAll(/<<-?\s*(['"]?)([\w.]+)\1/g)].at(-1) ?? []
  if (delimiter !== undefined && !new RegExp(`^\\s*${delimiter}$`, 'm').test(command)) return `${command}\n${delimiter}\n`
  // What is quoted does not matter, only that it ends.
  const text = command.replaceAll(/\\./gs, '')
  let open
  for (const character of text) if (open === undefined ? character === "'" || character === '"' : character === open) open = open === undefined ? character : undefined
  return open === undefined ? command : `${command}${open}`
}

/** An edit of a tool as a command that writes so many lines, so that the product says which files count. */
function commandOfEdit(path, lines) {
  return `cat > '${path.replaceAll("'", '')}' <<'END_OF_EDIT'\n${'line\n'.repeat(lines)}END_OF_EDIT`
}

/** Lines of an edit as far as they are on record; of one that is cut at least 3. */
function linesOfEdit(input, isCut) {
  const texts = [input.content, input.new_string, input.old_string, input.new_source].filter((text) => typeof text === 'string')
  const lines = Math.max(1, ...texts.map((text) => text.split('\n').length))
  return isCut ? Math.max(3, lines) : lines
}

/** What the run printed, without the frame of its harness. */
function outputText({ output }) {
  const text = output.tail === '' ? output.head : `${output.head}\n${output.tail}`
  return text.replaceAll(/<\/?(?:output|returncode)>/g, '')
}

const known = new WeakMap()

/**
 * What each step of a run did to files, in their order; undefined of one that did nothing.
 * @param {readonly import('./load.mjs').Step[]} steps @returns {(import('@halting/core').FileWork | undefined)[]}
 */
export function workOfSteps(steps) {
  if (!known.has(steps)) known.set(steps, judgedSteps(steps))
  return known.get(steps)
}

function judgedSteps(steps) {
  const changedFiles = []
  return steps.map((step) => {
    if (step.kind !== undefined) return workOfClass(step.kind)
    if (step.input === undefined) return undefined
    const [only, ...others] = callsOf(step).map((call) => workOfCall(step, call, changedFiles)).filter((work) => work !== undefined)
    return others.length === 0 ? only : [only, ...others].reduce(together)
  })
}

/** Calls of one message: a check among them counts as the later one, as within one call. */
function together(work, next) {
  const changedLines = (work.changedLines ?? 0) + (next.changedLines ?? 0)
  const check = next.check ?? work.check
  return { ...(changedLines > 0 && { changedLines }), ...(check !== undefined && { check }) }
}

function workOfCall(step, { name, input, isCut }, changedFiles) {
  const hasFailed = step.error === true
  if (editors.has(name)) {
    const path = input.file_path ?? input.notebook_path
    if (hasFailed || typeof path !== 'string') return undefined
    changedFiles.push(path)
    return commandWork(commandOfEdit(path, linesOfEdit(input, isCut)), { exitCode: 0, output: '' })
  }
  if (!shells.has(name) || typeof input.command !== 'string') return undefined
  const command = isCut ? closedCommand(input.command) : input.command
  const exitCode = step.exit ?? (hasFailed ? null : 0)
  const work = commandWork(command, { exitCode, output: outputText(step), changedFiles: [...changedFiles] })
  changedFiles.push(...commandChanges(command).map(({ path }) => path))
  return work
}
