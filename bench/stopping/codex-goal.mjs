// Has codex pursue a goal: `codex exec` has no flag for one, but its server for editors does. Run: node codex-goal.mjs CODEX OBJECTIVE ARGUMENTS…; the arguments go to
// `codex app-server`. Prints the status of the goal at the end; exit code 0 for `complete`, 1 for anything else.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

const [codex, objective, ...parameters] = process.argv.slice(2)
/** How long after a turn the next one may take to begin. */
const idleMs = 8_000

const server = spawn(codex, ['app-server', ...parameters], { stdio: ['pipe', 'pipe', 'inherit'] })
let ids = 0
let idle
let status = 'active'
const waiting = new Map()

const send = (message) => server.stdin.write(`${JSON.stringify(message)}\n`)
const ask = (method, params) =>
  new Promise((resolve) => {
    const id = ++ids
    waiting.set(id, resolve)
    send({ id, method, params })
  })

function end(why) {
  console.log(`goal ${status}: ${why}`)
  server.kill()
  process.exit(status === 'complete' ? 0 : 1)
}

createInterface({ input: server.stdout }).on('line', (line) => {
  const { id, method, params, result, error } = JSON.parse(line)
  if (method === undefined) {
    if (error !== undefined) console.error(JSON.stringify(error))
    waiting.get(id)?.(result)
    return
  }
  if (id !== undefined) return send({ id, error: { code: -32_601, message: 'nobody is here' } })
  if (method === 'thread/goal/updated') status = params.goal.status
  if (method === 'item/completed' && params.item.type === 'agentMessage') console.log(params.item.text)
  clearTimeout(idle)
  if (method === 'turn/completed' && status !== 'active') end('the turn is over')
  if (method === 'turn/completed') idle = setTimeout(() => end('the turn is over, and no other began'), idleMs)
})
server.once('exit', () => end('the server has ended'))

await ask('initialize', { clientInfo: { name: 'bench', title: 'bench', version: '1' }, capabilities: { experimentalApi: true } })
send({ method: 'initialized' })
const { thread } = await ask('thread/start', { cwd: process.cwd(), approvalPolicy: 'never', sandbox: 'danger-full-access' })
await ask('thread/goal/set', { threadId: thread.id, objective, origin: 'user' })
await ask('turn/start', { threadId: thread.id, input: [{ type: 'text', text: objective }] })
