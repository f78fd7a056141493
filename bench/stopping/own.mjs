// What halting has to come to in a situation with a goal: what its result line says, and whether `halting why` explains the ending.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

/** @returns a sentence for each thing that is not as the situation expects it. */
export function ownProblems({ out, exit, requests, billedUsd, start, home, ours }) {
  const result = resultIn(out)
  if (result === undefined) return ['no result line']
  const { goal } = result
  const { reason, exit: due, requests: dueRequests, mostTries, anyTampered, ...fields } = ours
  const problems = [
    // The wire has older names for some reasons.
    ...([result.terminal_reason, result.stop?.reason].includes(reason) ? [] : [`reason ${result.terminal_reason}, not ${reason}`]),
    ...(exit === due ? [] : [`exit code ${exit}, not ${due}`]),
    ...(dueRequests === undefined || requests === dueRequests ? [] : [`${requests} requests, not ${dueRequests}`]),
    ...(billedUsd <= 1 ? [] : [`$${billedUsd.toFixed(3)} were billed of $1`]),
    ...(mostTries === undefined || goal?.tries <= mostTries ? [] : [`${goal?.tries} tries, at most ${mostTries} are due`]),
    ...(anyTampered === undefined || goal?.tampered.some((file) => anyTampered.test(file)) ? [] : [`tampered is ${JSON.stringify(goal?.tampered)}`]),
    ...Object.entries(fields).flatMap(([name, value]) =>
      JSON.stringify(goal?.[name]) === JSON.stringify(value) ? [] : [`goal.${name} is ${JSON.stringify(goal?.[name])}, not ${JSON.stringify(value)}`],
    ),
  ]
  return [...problems, ...explanationProblems({ start, home, reason, goal })]
}

function resultIn(out) {
  const line = out.trim().split('\n').findLast((text) => text.startsWith('{'))
  try {
    const value = JSON.parse(line ?? '')
    return value.type === 'result' ? value : undefined
  } catch {
    return undefined
  }
}

/** Of each ending the person can learn why, and of a goal which check it was. */
function explanationProblems({ start, home, reason, goal }) {
  const [node, program] = start.command
  const { stdout, status } = spawnSync(node, [program, 'why'], { cwd: join(home, 'work'), env: { PATH: process.env.PATH, HOME: home, ...start.env }, encoding: 'utf8' })
  const failed = goal?.met === false ? goal.checks.find(({ met }) => !met)?.name : undefined
  return [
    ...(status === 0 && stdout.trim() !== '' ? [] : [`halting why: exit code ${status}`]),
    ...(reason === 'completed' || stdout.includes(reason) ? [] : [`halting why does not name ${reason}`]),
    ...(failed === undefined || stdout.includes(failed.slice(0, 20)) ? [] : [`halting why does not name the check ${failed}`]),
  ]
}
