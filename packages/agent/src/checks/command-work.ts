import type { FileWork } from '@halting/core'
import { commandSteps, type CommandStep, isReadOnlyCommand } from '@halting/policy/shell'
import { kindOfCheck, onlyFormats } from './check-programs.ts'
import { changesOfStep, type CommandChange, countedLines } from './command-changes.ts'
import { isChecked, mayBeSameFile } from './file-places.ts'
import { runsChanged } from './program-runs.ts'
import type { CheckKind } from './task-names.ts'

/** The outcome of a command line, and what is known of the run so far. */
export interface CommandOutcome {
  /** Exit code of the command; null if it was killed or timed out. */
  readonly exitCode: number | null
  /** The command's output, at least the beginning and the end. */
  readonly output: string
  /**
   * Paths of files that the run had changed before: executing one of these files counts as a check (default: none).
   */
  readonly changedFiles?: readonly string[]
  /**
   * Files among `changedFiles` that the run had created and that nothing else needs: deleting one is not a change.
   * Default: judged by name.
   */
  readonly madeFiles?: readonly string[]
  /**
   * Whether a folder that the command line enters by absolute path has no files of the run, so that a check in it
   * proves nothing about the changes. Default: never.
   */
  readonly isElsewhere?: (folder: string) => boolean
  /**
   * Files that changed while the command ran, relative to its folder; parsed from the command when absent. They are
   * ignored if the command only checks, formats or reads.
   */
  readonly seen?: readonly CommandChange[]
}

/** A program of the line that checks something. */
interface FoundCheck {
  readonly step: CommandStep
  readonly kind: CheckKind | 'run'
  readonly at: number
}

// Spec R-VERI-10.
/**
 * Returns the file work of a command line: lines that it changed, and the check that it ran, with the result. A pure
 * function of the command and its outcome; undefined for a command with neither. In doubt, a check has not passed.
 * Never throws.
 */
export function commandWork(command: string, outcome: CommandOutcome): FileWork | undefined {
  const { seen } = outcome
  const steps = commandSteps(command)
  const changes = steps.map(changesOfStep)
  const checks = checksIn(steps, changes, outcome).filter((check) => hasRun(check, outcome))
  const lines =
    seen === undefined ? changedBy(changes, checks, outcome) : mayChange(steps) ? countedLines(seen, outcome) : 0
  const last = checks.at(-1)
  if (last === undefined) return lines === 0 ? undefined : { changedLines: lines }
  // Within one call, the check counts as later than the change.
  const isChangedLater =
    countedLines(changes.slice(last.at + 1).flat(), outcome) > 0 ||
    (writesSources(changes.flat(), seen ?? []) && steps.slice(last.at + 1).some(mayWriteUnnamed))
  const echoed = linesOfEcho(steps)
  const failed = checks.find((check) => !hasPassed(check, outcome, echoed))
  return {
    ...(lines > 0 && { changedLines: lines }),
    check: { command: shownCheck(failed ?? last), passed: failed === undefined && !isChangedLater },
  }
}

function checksIn(
  steps: readonly CommandStep[],
  changes: readonly (readonly CommandChange[])[],
  { changedFiles = [], seen = [], isElsewhere = () => false }: CommandOutcome,
): readonly FoundCheck[] {
  const changed = [...changedFiles]
  const isWriting = writesSources(changes.flat(), seen)
  return steps.flatMap((step, at): readonly FoundCheck[] => {
    const words = step.words.map((word) => word ?? '')
    const kind = kindOfCheck(words) ?? (!isWriting && runsChanged(step, changed) ? 'run' : undefined)
    changed.push(...(changes[at] ?? []).map(({ path }) => path))
    const folder = folderOf(step.folder, words)
    if (folder?.startsWith('/') === true && isElsewhere(folder)) return []
    return kind === undefined || step.isBackground ? [] : [{ step, kind, at }]
  })
}

/** Returns the folder in which a step works; an option may set it, as in `make -C web test`. */
function folderOf(folder: string | undefined, words: readonly string[]): string | undefined {
  const at = words.findIndex((word) => folderOption.test(word))
  const [, joined] = /^--[\w-]+=(.*)/.exec(words[at] ?? '') ?? []
  const named = at < 0 ? undefined : (joined ?? words[at + 1])
  return named?.startsWith('/') === true ? named : folder
}

const folderOption = /^(?:-C|--prefix|--dir|--cwd|--directory|--working-directory|--project-dir|--rootDir)(?:=|$)/

const sources =
  /\.(?:[cm]?[jt]sx?|py|pyi|go|rs|c|cc|cpp|cxx|h|hpp|java|kt|kts|scala|rb|php|cs|fs|swift|m|mm|sh|bash|pl|lua|ex|exs|erl|hs|ml|clj|dart|zig|nim|jl|r|sql|vue|svelte)$/i

/**
 * Whether sources changed that the command text does not name. In that case, a program of the command edits files, and
 * running it is not a check.
 */
function writesSources(named: readonly CommandChange[], seen: readonly CommandChange[]): boolean {
  return seen.some(
    ({ path }) => sources.test(path) && isChecked(path) && !named.some((one) => mayBeSameFile(one.path, path)),
  )
}

/** Files that a check writes itself, such as snapshots and reports, are not changes. */
function changedBy(
  changes: readonly (readonly CommandChange[])[],
  checks: readonly FoundCheck[],
  outcome: CommandOutcome,
): number {
  const ofChecks = new Set(checks.map(({ at }) => at))
  return countedLines(
    changes.flatMap((ofStep, at) => (ofChecks.has(at) ? [] : ofStep)),
    outcome,
  )
}

/** Git verbs that leave working files unchanged. */
const harmlessGit = /^(?:add|commit|push|fetch|tag|config|branch|notes|remote)$/
const harmless =
  /^(?:cd|pushd|popd|export|set|unset|exit|true|false|:|sleep|wait|kill|pkill|mkdir|rmdir|rm|unlink|chmod|touch|trap|curl|wget|date|test|\[)$/

/** Whether a step may write files that its text does not name. */
function mayWriteUnnamed(step: CommandStep): boolean {
  const [name = '', ...args] = step.words.map((word) => word ?? '')
  if (name === 'git' && args.some((word) => harmlessGit.test(word))) return false
  return !harmless.test(name) && mayChange([step])
}

/** Whether the line may have changed files that a check covers. False if the line only checks, formats or reads. */
function mayChange(steps: readonly CommandStep[]): boolean {
  return (
    steps.length === 0 ||
    steps.some(({ words, source, writes }) => {
      const known = words.map((word) => word ?? '')
      if (writes.some(isChecked)) return true
      return !(
        known.length === 0 ||
        kindOfCheck(known) !== undefined ||
        onlyFormats(known) ||
        isReadOnlyCommand(source)
      )
    })
  )
}

const notThere =
  /command not found|: not found|No module named ['"]?(?:pytest|tox|mypy|ruff|flake8|unittest2|nox|pylint)\b|Missing script|could not determine executable|Command "[\w:-]+" not found|Couldn't find a script|No rule to make target|ERR_PNPM_NO_SCRIPT|Unknown command|executable file not found|can't open file|Cannot find module '\/[^']*'\n/

/** Whether the check was found and ran to completion. */
function hasRun({ step }: FoundCheck, { exitCode, output }: CommandOutcome): boolean {
  if (exitCode === null) return false
  if (step.status === 'line') return exitCode === 0 || ((exitCode < 126 || exitCode > 127) && !notThere.test(output))
  return !notThere.test(output)
}

/** Lines that the command line prints itself: they are not output of its checks. */
function linesOfEcho(steps: readonly CommandStep[]): ReadonlySet<string> {
  const echoes = steps.filter(({ words: [name] }) => /^(?:echo|printf)$/.test(name ?? ''))
  return new Set(
    echoes.flatMap(({ words: [, ...args] }) =>
      args
        .map((word) => word ?? '')
        .join(' ')
        .split(/\n|\\n/)
        .map((line) => line.replace(/^-[neE]+ /, '').trim()),
    ),
  )
}

function hasPassed(
  { step, kind }: FoundCheck,
  { exitCode, output }: CommandOutcome,
  echoed: ReadonlySet<string>,
): boolean {
  const { status, printedBehind = '' } = step
  if (status === 'line' && exitCode !== 0) return false
  const printed = status === 'printed' ? printedCode(output, printedBehind) : undefined
  if (printed !== undefined && printed !== 0) return false
  if (status === 'line' || printed === 0) return !isIdle(step, kind, output)
  return passedByOutput({ step, kind }, exitCode, output, echoed)
}

/** Whether the check found nothing to check, or reports by its output alone. */
function isIdle(step: CommandStep, kind: CheckKind | 'run', output: string): boolean {
  const [name = '', ...args] = step.words
  if (/(?:^|\/)gofmt$/.test(name ?? '') && args.some((word) => /^-\w*l/.test(word ?? ''))) return output.trim() !== ''
  if (args.includes('--if-present') && output.trim() === '') return true
  return kind !== 'run' && kind !== 'build' && verdictOf(output) === 'nothing'
}

/** Returns the exit code that the line printed after a text; of several codes, the first that is not success. */
function printedCode(output: string, behind: string): number | undefined {
  const text = behind.trim()
  const codes = output.split(/\r?\n/).flatMap((line) => {
    if (text === '') return /^\s*\d{1,3}\s*$/.test(line) ? [Number(line)] : []
    const at = line.lastIndexOf(text)
    const [, digits] = at < 0 ? [] : (/^\s*(\d{1,3})\b/.exec(line.slice(at + text.length)) ?? [])
    return digits === undefined ? [] : [Number(digits)]
  })
  return codes.find((code) => code !== 0) ?? codes[0]
}

/** Without an exit code, the output must report success, or be all that a quiet check prints. */
function passedByOutput(
  { step, kind }: Omit<FoundCheck, 'at'>,
  exitCode: number | null,
  output: string,
  echoed: ReadonlySet<string>,
): boolean {
  if (!step.isShown) return false
  const verdict = verdictOf(output)
  if (verdict === 'passed') return verdictOf(linesWithout(output, echoed)) === 'passed'
  if (verdict !== 'unknown') return false
  if (kind === 'tests' || step.isConditional) return false
  const isQuiet = output.trim() === ''
  const isWhole = step.through.every((words) => passesOutputOn(words, output))
  if (kind === 'types' || kind === 'lint')
    return isQuiet && step.through.every((words) => passesOutputOn(words, output) || findsFailures(words))
  return isWhole && exitCode === 0
}

function linesWithout(output: string, lines: ReadonlySet<string>): string {
  if (lines.size === 0) return output
  return output
    .split(/\r?\n/)
    .filter((line) => !lines.has(line.trim()))
    .join('\n')
}

/** Whether a program passes on the relevant output: the end of the output, or all of it. */
function passesOutputOn([first = '', ...args]: readonly string[], output: string): boolean {
  const name = first.slice(first.lastIndexOf('/') + 1)
  if (name === 'cat' || name === 'tee' || name === 'ts') return true
  const [, digits] = /-(?:n\s*)?(\d+)/.exec(args.join(' ')) ?? []
  const lines = digits === undefined ? 10 : Number(digits)
  if (name === 'tail') return lines >= 2
  return name === 'head' && output.trimEnd().split('\n').length < lines
}

/** Whether the program searches for failures and prints nothing if there are none. */
function findsFailures([first = '', ...args]: readonly string[]): boolean {
  const isSearch = /(?:^|\/)(?:[ef]?grep|rg)$/.test(first)
  return isSearch && !args.some((word) => /^-\w*[cvql]/.test(word)) && args.some((word) => /err|fail|warn/i.test(word))
}

/** The command on one line, as a user would type it. */
function shownCheck({ step: { source, folder = '' } }: FoundCheck): string {
  const line = folder === '' ? source : `cd ${folder} && ${source}`
  return line.replaceAll(/\s+/g, ' ').trim()
}

/**
 * The result of a check according to its output, when the exit code does not show it. `nothing`: there was nothing to
 * check.
 */
type OutputVerdict = 'passed' | 'failed' | 'nothing' | 'unknown'

/** Only both ends of longer outputs are read. */
const longestEnd = 100_000
const longestLine = 2000

/** Non-zero counts of failures, anywhere in a line. */
const badCounts: readonly RegExp[] = [
  /\b0*[1-9]\d*\s+(?:tests?\s+|specs?\s+|suites?\s+|checks?\s+|files?\s+)?(?:failed|failing|failures?|failed tests?|errors?|errored|error\(s\)|problems?|broken|not ok|violations?|offenses? detected|timed out|crashed)\b(?!\s*(?:allowed|ignored|fixed))/i,
  /(?:^|[\s(,;#])(?:fail|fails|failed|failures?|errors?|not ok|num_failed|failing)\s*[:=]?\s+0*[1-9]\d*\b(?!\s*(?:passed|ms|s\b))/i,
  /\b(?:fail|failed|failures?|errors?)\s*[:=]\s*0*[1-9]\d*\b/i,
]

/** Line beginnings that report a failure. */
const badLine =
  /^[\s>|│]*(?:\[[a-z][\w:.-]{0,40}\]\s+)?(?:\[?(?:FAIL|FAILED|ERROR|FATAL|ERR!?|CRITICAL)\]?(?=[\s:([!]|$)|---? FAIL|not ok\b|[✗✘✖✕×❌⨯]|error(?:\[\w+\])?:|(?:npm|yarn|pnpm) (?:ERR!|error)|Traceback \(most recent|fatal:|panic:|thread '.*' panicked|Segmentation fault|core dumped|Aborted|Killed|Unhandled(?:Promise)?Rejection|Uncaught|FAILURE:|BUILD FAILED|E\s{3,}\S|\w*(?:Error|Exception)\b(?:\s\[\w+\])?:|Exception in thread|Command failed|exit(?:ed)? (?:code|status):? [1-9])/

const badWords =
  /error TS\d+|: (?:fatal )?error(?: [A-Z]+\d+)?:|\bAssertionError\b|\*\*\* .*(?:Error \d+|No rule|Stop\.)|command not found|: not found$|No such file or directory|[Cc]annot find module|No module named|ModuleNotFoundError|Missing script|ELIFECYCLE|\bBUILD FAILURE\b|could not compile|Compilation failed|Failed to compile|Tests? failed|test result: FAILED|Permission denied|Build failed|npm error|ERR_PNPM|exit code [1-9]|exit status [1-9]|returned non-zero|Operation not permitted|Would reformat|would be reformatted/

/** Non-zero counts of passed items. */
const goodCounts =
  /\b0*[1-9][\d,]*\s+(?:\w+\s+){0,2}(?:passed|passing|pass|ok|succeeded|successful)\b|\b(?:pass|passed|passes|succeeded|ok)\s*[:=]?\s+0*[1-9]\d*\b|# pass 0*[1-9]|^\s*OK \(0*[1-9]|^ok\s+\S|test result: ok\. 0*[1-9]|100% tests passed|\b0*[1-9]\d* examples?, 0 failures|\bRan 0*[1-9]\d* tests?\b/im

const goodWords =
  /^\s*OK(?:\s*\(|\s*$)|BUILD SUCCESS|Build succeeded|Compiled successfully|[Cc]ompil(?:ed|ation) success|All checks passed|all (?:\w+\s+)?(?:tests|checks|assertions|specs)\s+(?:have\s+)?(?:passed|pass|ok|succeeded)|no issues found|Success: no issues|\b(?:Found )?0 (?:errors|problems|warnings and 0 errors|violations|issues|failures|failed)\b|No (?:errors|problems|issues|violations|lint errors)|^\s*[✓✔√✅]|built in \d|Finished (?:`|dev|test|release|\w+ profile)|tests? passed|^Finished in \d|no offenses detected|Successfully built|would be left unchanged|Done in \d|All matched files use|\bno problems\b/im

/** Words that only programs print in this form. */
const goodMarks = /^\s*(?:--- )?PASS(?:ED)?\b|\bPASSED\b/m

const nothingWords =
  /\bno tests? (?:found|ran|to run|were run|collected|files? found|files?\b|executed|specified|suites? found|matched|were executed)|collected 0 items|\bRan 0 tests\b|No test files found|\b0 passing\b|# tests 0\b|^\s*Tests:?\s+0(?: total)?\s*$|\b(?:running|executed|total|found) 0 tests\b|0 tests? (?:executed|run\b|found|passed|completed)|\[no tests to run\]|^(?:#|ℹ) tests 0\s*$|No tests? were found|No test matches|Result: NOTESTS|^1\.\.0\s*$|^\s*Tests:?\s+(?:\d+ (?:skipped|pending|todo)[,| ]*)+(?:\d+ total|\(\d+\))\s*$|no test specified|No tests? (?:are|is) available|No specs found|0 examples|Nothing to be done for|No files matching|no files? (?:found|to check|were found|given)|testing: warning: no tests to run/im

/** Reads the result of a check from its output. In doubt it is `unknown`. */
function verdictOf(fullOutput: string): OutputVerdict {
  const output =
    fullOutput.length <= 2 * longestEnd
      ? fullOutput
      : `${fullOutput.slice(0, longestEnd)}\n${fullOutput.slice(-longestEnd)}`
  // oxlint-disable-next-line no-control-regex -- colours
  const plain = output.replaceAll(/\u001B\[[\d;]*[A-Za-z]/g, '')
  const lines = plain.split(/\r?\n/).map((line) => line.slice(0, longestLine))
  if (lines.some(reportsFailure)) return 'failed'
  const text = lines.join('\n')
  if (isAllSkipped(text)) return 'nothing'
  if (goodCounts.test(lines.filter((line) => !line.includes('[no tests to run]')).join('\n'))) return 'passed'
  if (nothingWords.test(text)) return 'nothing'
  return goodWords.test(text) || goodMarks.test(text) ? 'passed' : 'unknown'
}

/** What unittest prints when it skipped every test. */
function isAllSkipped(text: string): boolean {
  const [, ran] = /^Ran (\d{1,9}) tests? in /m.exec(text) ?? []
  const [, skipped] = /^OK \(skipped=(\d{1,9})\)/m.exec(text) ?? []
  return ran !== undefined && ran === skipped
}

function reportsFailure(line: string): boolean {
  return badLine.test(line) || badWords.test(line) || badCounts.some((pattern) => pattern.test(line))
}
