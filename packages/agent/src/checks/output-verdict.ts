/** What the output of a check says of how it ended, where its exit code does not. `nothing`: it had nothing to check. */
export type OutputVerdict = 'passed' | 'failed' | 'nothing' | 'unknown'

/** Longer outputs are read at both ends. */
const longestEnd = 100_000
const longestLine = 2000

/** Counts above 0 of what went wrong, wherever they stand in a line. */
const badCounts: readonly RegExp[] = [
  /\b0*[1-9]\d*\s+(?:tests?\s+|specs?\s+|suites?\s+|checks?\s+|files?\s+)?(?:failed|failing|failures?|failed tests?|errors?|errored|error\(s\)|problems?|broken|not ok|violations?|offenses? detected|timed out|crashed)\b(?!\s*(?:allowed|ignored|fixed))/i,
  /(?:^|[\s(,;#])(?:fail|fails|failed|failures?|errors?|not ok|num_failed|failing)\s*[:=]?\s+0*[1-9]\d*\b(?!\s*(?:passed|ms|s\b))/i,
  /\b(?:fail|failed|failures?|errors?)\s*[:=]\s*0*[1-9]\d*\b/i,
]

/** Lines that begin like this report a failure. */
const badLine =
  /^[\s>|│]*(?:\[[a-z][\w:.-]{0,40}\]\s+)?(?:\[?(?:FAIL|FAILED|ERROR|FATAL|ERR!?|CRITICAL)\]?(?=[\s:([!]|$)|---? FAIL|not ok\b|[✗✘✖✕×❌⨯]|error(?:\[\w+\])?:|(?:npm|yarn|pnpm) (?:ERR!|error)|Traceback \(most recent|fatal:|panic:|thread '.*' panicked|Segmentation fault|core dumped|Aborted|Killed|Unhandled(?:Promise)?Rejection|Uncaught|FAILURE:|BUILD FAILED|E\s{3,}\S|\w*(?:Error|Exception)\b(?:\s\[\w+\])?:|Exception in thread|Command failed|exit(?:ed)? (?:code|status):? [1-9])/

const badWords =
  /error TS\d+|: (?:fatal )?error(?: [A-Z]+\d+)?:|\bAssertionError\b|\*\*\* .*(?:Error \d+|No rule|Stop\.)|command not found|: not found$|No such file or directory|[Cc]annot find module|No module named|ModuleNotFoundError|Missing script|ELIFECYCLE|\bBUILD FAILURE\b|could not compile|Compilation failed|Failed to compile|Tests? failed|test result: FAILED|Permission denied|Build failed|npm error|ERR_PNPM|exit code [1-9]|exit status [1-9]|returned non-zero|Operation not permitted|Would reformat|would be reformatted/

/** Something passed that was counted. */
const goodCounts =
  /\b0*[1-9][\d,]*\s+(?:\w+\s+){0,2}(?:passed|passing|pass|ok|succeeded|successful)\b|\b(?:pass|passed|passes|succeeded|ok)\s*[:=]?\s+0*[1-9]\d*\b|# pass 0*[1-9]|^\s*OK \(0*[1-9]|^ok\s+\S|test result: ok\. 0*[1-9]|100% tests passed|\b0*[1-9]\d* examples?, 0 failures|\bRan 0*[1-9]\d* tests?\b/im

const goodWords =
  /^\s*OK(?:\s*\(|\s*$)|BUILD SUCCESS|Build succeeded|Compiled successfully|[Cc]ompil(?:ed|ation) success|All checks passed|all (?:\w+\s+)?(?:tests|checks|assertions|specs)\s+(?:have\s+)?(?:passed|pass|ok|succeeded)|no issues found|Success: no issues|\b(?:Found )?0 (?:errors|problems|warnings and 0 errors|violations|issues|failures|failed)\b|No (?:errors|problems|issues|violations|lint errors)|^\s*[✓✔√✅]|built in \d|Finished (?:`|dev|test|release|\w+ profile)|tests? passed|^Finished in \d|no offenses detected|Successfully built|would be left unchanged|Done in \d|All matched files use|\bno problems\b/im

/** Words that only programs print so. */
const goodMarks = /^\s*(?:--- )?PASS(?:ED)?\b|\bPASSED\b/m

const nothingWords =
  /\bno tests? (?:found|ran|to run|were run|collected|files? found|files?\b|executed|specified|suites? found|matched|were executed)|collected 0 items|\bRan 0 tests\b|No test files found|\b0 passing\b|# tests 0\b|^\s*Tests:?\s+0(?: total)?\s*$|\b(?:running|executed|total|found) 0 tests\b|0 tests? (?:executed|run\b|found|passed|completed)|\[no tests to run\]|^(?:#|ℹ) tests 0\s*$|No tests? were found|No test matches|Result: NOTESTS|^1\.\.0\s*$|^\s*Tests:?\s+(?:\d+ (?:skipped|pending|todo)[,| ]*)+(?:\d+ total|\(\d+\))\s*$|no test specified|No tests? (?:are|is) available|No specs found|0 examples|Nothing to be done for|No files matching|no files? (?:found|to check|were found|given)|testing: warning: no tests to run/im

/** Reads the output of a check. In doubt it is `unknown`. */
export function verdictOf(given: string): OutputVerdict {
  const output = given.length <= 2 * longestEnd ? given : `${given.slice(0, longestEnd)}\n${given.slice(-longestEnd)}`
  // oxlint-disable-next-line no-control-regex -- colours
  const plain = output.replaceAll(/\u001B\[[\d;]*[A-Za-z]/g, '')
  const lines = plain.split(/\r?\n/).map((line) => line.slice(0, longestLine))
  if (lines.some(tellsOfFailure)) return 'failed'
  const text = lines.join('\n')
  if (isAllSkipped(text)) return 'nothing'
  if (goodCounts.test(lines.filter((line) => !line.includes('[no tests to run]')).join('\n'))) return 'passed'
  if (nothingWords.test(text)) return 'nothing'
  return goodWords.test(text) || goodMarks.test(text) ? 'passed' : 'unknown'
}

/** What unittest prints where it skipped each test. */
function isAllSkipped(text: string): boolean {
  const [, ran] = /^Ran (\d{1,9}) tests? in /m.exec(text) ?? []
  const [, skipped] = /^OK \(skipped=(\d{1,9})\)/m.exec(text) ?? []
  return ran !== undefined && ran === skipped
}

function tellsOfFailure(line: string): boolean {
  return badLine.test(line) || badWords.test(line) || badCounts.some((pattern) => pattern.test(line))
}
