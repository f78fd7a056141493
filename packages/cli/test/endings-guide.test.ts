// Checks docs/guide/endings.md: what a user, a host and an editor see of every ending, by one real run of each through each frontend. `HALTING_WRITE=1` writes that page. Holds rules of docs/spec: R-TERM-24, R-TERM-25, R-TERM-26, R-HOST-8, R-ACP-5, R-ACP-5a.
import { readFileSync, writeFileSync } from 'node:fs'
import { endings, type EndingReason } from '@halting/core'
import { expect, test } from 'vitest'
import { callProblems } from './support/acp-schema.ts'
import { testFolder } from './support/acp-agent.ts'
import { runHeadless, runInEditor, runInTerminal, runOnHost, type ResultLine } from './support/ending-frontends.ts'
import { endingRuns } from './support/ending-runs.ts'

const page = new URL('../../../docs/guide/endings.md', import.meta.url)
const isWritten = process.env['HALTING_WRITE'] === '1'
// `Object.keys` of a record over the union gives the union.
const reasons = Object.keys(endings) as EndingReason[]

const cell = (text: string): string => (text === '' ? '–' : text.replaceAll('|', String.raw`\|`).replaceAll('\n', ' '))
const code = (text: string): string => `\`${text}\``

/** What each frontend reports of the ending in addition to its text. */
interface Facts {
  /** The reason after the sentence; a success has none. */
  readonly named: string | undefined
  readonly result: readonly unknown[] | undefined
  readonly printedResult: readonly unknown[] | undefined
  readonly exitCode: number
  readonly hostExitCode: number
  readonly stopReason: string
  readonly stop: readonly unknown[]
  readonly problems: readonly unknown[]
  /** How often the editor shows the sentence. */
  readonly sentences: number
}

/** One run through each frontend: its report, and its row of the table. */
async function seen(reason: EndingReason): Promise<{ readonly facts: Facts; readonly row: string }> {
  const run = endingRuns[reason]
  const cwd = testFolder()
  const { says, reason: named, offers } = await runInTerminal(run)
  const host = await runOnHost(run, cwd)
  const printed = await runHeadless(run, cwd)
  const { stopReason, stop, says: notices, updates, wire } = await runInEditor(run)
  const sentences = notices.split('\n').filter((notice) => notice.startsWith(`${reason}: `))
  const row = [
    code(reason),
    cell(says),
    cell(offers.join(', ')),
    resultCell(printed.result, host.result),
    cell(printed.result?.errors?.[0] ?? ''),
    String(printed.exitCode),
    stopReason === 'error' ? 'error' : code(stopReason),
    cell(sentences.join('')),
  ].join(' | ')
  const facts = {
    named,
    result: factsOf(host.result),
    printedResult: factsOf(printed.result),
    exitCode: printed.exitCode,
    hostExitCode: host.exitCode,
    stopReason,
    stop: [stop.reason, stop.category],
    problems: [...callProblems(updates()), ...wire.problems, ...wire.unanswered],
    sentences: sentences.length,
  }
  return { facts, row }
}

/** The result lines of `halting -p` and of the host protocol, which differ for some endings. */
function resultCell(printed: ResultLine | undefined, host: ResultLine | undefined): string {
  if (printed === undefined || host === undefined) return '–'
  const shown = `${code(printed.subtype)}, ${code(`is_error: ${printed.is_error}`)}`
  return printed.subtype === host.subtype ? shown : `${shown}; to a host ${code(host.subtype)}`
}

function factsOf(result: ResultLine | undefined): Facts['result'] {
  return result && [result.subtype, result.is_error, result.terminal_reason, result.stop.reason, result.stop.category]
}

/** The same, according to the tables of the code. */
function factsFor(reason: EndingReason): Facts {
  const ending = endings[reason]
  const isError = ending.subtype !== 'success'
  const wireName = reason === 'max_budget_usd' ? 'budget_exhausted' : reason
  // For a failure that was retried until no retry was left.
  const category = reason === 'model_error' ? 'retry_limit' : ending.category
  // A reader that has left receives no result line; the exit code says so.
  const hasReader = reason !== 'abandoned'
  const result = hasReader ? [ending.subtype, isError, wireName, reason, category] : undefined
  // Hosts receive `result` after some endings that are errors elsewhere (spec R-GOAL-23).
  const isHostError = isError && !ending.hostsReadResult
  const hostResult = hasReader && isError && !isHostError ? ['success', false, wireName, reason, category] : result
  const exitCode = hasReader ? (ending.exitCode ?? 1) : 141
  // A client that did not cancel does not receive a cancellation.
  const isCancelled = reason === 'aborted_streaming' || reason === 'aborted_tools'
  const acpReason = endings[reason].acp
  return {
    named: reason === 'completed' || reason === 'finish_reason' ? undefined : reason,
    result: hostResult,
    printedResult: result,
    exitCode,
    hostExitCode: isHostError ? exitCode : 0,
    stopReason: acpReason === 'cancelled' && !isCancelled ? 'end_turn' : acpReason,
    stop: [reason, category],
    problems: [],
    sentences: reason === 'completed' ? 0 : 1,
  }
}

function pageOf(rows: readonly string[]): string {
  return `# Endings, in each of the three faces

Every run ends with one of ${rows.length} reasons. There are three user interfaces: a person uses the terminal, a host program reads lines of \`stream-json\`, and an editor speaks the Agent Client Protocol. All three show the same record: the reason, the signal with its
figures, and what can be done next. Each row shows what one real run with a scripted model printed in each interface. \`HALTING_WRITE=1 npx vitest run packages/cli/test/endings-guide.test.ts\` runs them all and writes this page.

- **Terminal.** The sentence is printed after every run. The name of the reason, the figures of the run, the changed files and the open todos follow. To choose an offer, type it alone and press Enter: an empty line, \`t\`, \`w\`, \`m\`, \`u\` or \`y\`. Any other text is a prompt.
- **Host.** The result line has \`subtype\`, \`is_error\`, \`errors\`, and the record as \`stop\`. \`halting -p\` exits with the code in the table. With \`--input-format stream-json\`, the exit code is that of the last result if it is an error, otherwise 0. Where that protocol has another \`subtype\`, the table says so: hosts read \`result\` there.
- **Editor.** \`error\` means a response with an error, whose \`data\` has the record. All other responses have the record in \`_meta["halting/stop"]\`. \`cancelled\` is only used if the editor cancelled. The sentence is sent as a separate message.

Two reasons do not come from a user interface. \`user_requested\` comes from hooks, guards, and programs that hold the session (\`Session.stop\`). \`abandoned\` means that the reader of stdout has gone, so nobody reads a result line.

| reason | the terminal says | and offers | result line | \`errors[0]\` | exit code | editor: \`stopReason\` | and says |
|---|---|---|---|---|---|---|---|
${rows.map((row) => `| ${row} |`).join('\n')}
`
}

const rows = new Map<EndingReason, string>()

test.each(reasons)('reports %s in each frontend as the tables say', async (reason) => {
  const { facts, row } = await seen(reason)
  rows.set(reason, row)
  expect(facts).toEqual(factsFor(reason))
})

test('docs/guide/endings.md matches the output of the three frontends', () => {
  const made = pageOf(reasons.map((reason) => rows.get(reason) ?? ''))
  if (isWritten) writeFileSync(page, made)
  expect(readFileSync(page, 'utf8')).toBe(made)
})
