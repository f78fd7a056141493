// The result that halting must have in a situation with a goal: what its record says (`halting why --json`), and whether `halting why` explains the ending.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

/** The maximum that may be billed: the budget of the program. */
export const ownBudgetUsd = 1

/** @returns a sentence for each deviation from what the situation expects. */
export function ownProblems({ exit, requests, billedUsd, start, home, ours }) {
  const run = JSON.parse(why(start, home, ['--json'])).runs?.at(-1)
  if (run === undefined) return ['nothing is on record']
  const { goal, ending } = run
  const { reason, exit: due, requests: dueRequests, maxTries, anyTampered, ...fields } = ours
  return [
    ...(reason === undefined || ending?.reason === reason ? [] : [`reason ${ending?.reason}, not ${reason}`]),
    ...(due === undefined || exit === due ? [] : [`exit code ${exit}, not ${due}`]),
    ...(dueRequests === undefined || requests === dueRequests ? [] : [`${requests} requests, not ${dueRequests}`]),
    ...(billedUsd <= ownBudgetUsd ? [] : [`$${billedUsd.toFixed(3)} were billed of $${ownBudgetUsd}`]),
    ...(maxTries === undefined || goal?.tries <= maxTries ? [] : [`${goal?.tries} tries, at most ${maxTries} are due`]),
    ...(anyTampered === undefined || goal?.tampered.some((file) => anyTampered.test(file)) ? [] : [`tampered is ${JSON.stringify(goal?.tampered)}`]),
    ...Object.entries(fields).flatMap(([name, value]) =>
      JSON.stringify(goal?.[name]) === JSON.stringify(value) ? [] : [`goal.${name} is ${JSON.stringify(goal?.[name])}, not ${JSON.stringify(value)}`],
    ),
    ...explanationProblems(why(start, home, []), { reason: ending?.reason ?? '', goal }),
  ]
}

/** The explanation for people names the ending, and the check that failed or the files that were changed. */
function explanationProblems(text, { reason, goal }) {
  const failed = goal?.met === false ? goal.checks.find(({ met }) => !met)?.name : undefined
  const names = [reason, ...(failed === undefined ? [] : [failed.slice(0, 20)]), ...(goal?.tampered ?? []), ...(goal?.changedTests ?? [])]
  return names.filter((name) => !text.includes(name)).map((name) => `halting why does not name ${name}`)
}

function why(start, home, flags) {
  const [node, program] = start.command
  const { stdout } = spawnSync(node, [program, 'why', ...flags], { cwd: join(home, 'work'), env: { PATH: process.env.PATH, HOME: home, ...start.env }, encoding: 'utf8' })
  return stdout
}
