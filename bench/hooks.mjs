// What ten hooks per call cost, compared with a bare spawn of the same command. See README.md.
import { spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import { readHooks, ShellHooks } from '@halting/agent/hooks'
import { streamRun, startRun, tool } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'

const calls = Number(process.argv.find((word) => word.startsWith('--calls='))?.slice(8) ?? 30)
const median = (samples) => samples.toSorted((a, b) => a - b)[Math.floor(samples.length / 2)]
const timed = async (run) => {
  const begun = performance.now()
  await run()
  return performance.now() - begun
}
const bare = (command) =>
  new Promise((resolve) => {
    const child = spawn('bash', ['-c', command], { stdio: ['pipe', 'pipe', 'pipe'] })
    // It need not read it.
    child.stdin.on('error', () => {})
    child.stdin.end('{}')
    child.stdout.resume()
    child.stderr.resume()
    child.once('close', resolve)
  })

const commandOf = (number) => `: ${number}`
const spawns = async (count) => {
  const samples = []
  for (let time = 0; time < calls; time++)
    samples.push(await timed(() => Promise.all(Array.from({ length: count }, (_, number) => bare(commandOf(number))))))
  return median(samples)
}

/** Milliseconds of a call with this many hooks before it. */
async function callWith(count) {
  const hooks = Array.from({ length: count }, (_, number) => ({ type: 'command', command: commandOf(number) }))
  const shell = new ShellHooks({
    hooks: readHooks(count === 0 ? {} : { PreToolUse: [{ hooks }] }).hooks,
    sessionId: 'bench',
    transcriptPath: '/dev/null',
    cwd: tmpdir(),
    env: process.env,
    permissionMode: () => 'default',
    model: 'scripted',
    source: 'startup',
  })
  const replies = Array.from({ length: calls }, (_, number) => ({ toolCalls: [{ name: 'Look', input: { number } }] }))
  const look = tool({ name: 'Look', description: '', execute: () => 'seen' })
  const options = { model: scriptedModel([...replies, 'done']), tools: [look], hooks: shell.hooks }
  const whole = await timed(() => streamRun(startRun({ prompt: 'go' }), options).result)
  await shell.end('other')
  return whole / calls
}

await callWith(1)
console.log('| | ms |\n|---|---:|')
for (const count of [1, 10]) console.log(`| bare spawns side by side: ${count} | ${(await spawns(count)).toFixed(1)} |`)
for (const count of [0, 1, 10]) console.log(`| a call with ${count} hooks | ${(await callWith(count)).toFixed(1)} |`)
