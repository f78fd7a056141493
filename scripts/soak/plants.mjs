// Leftovers of each kind that a leak could have: the soak has to find them.
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'

const held = []

/** @type {Readonly<Record<string, (folder: string, kept: WeakRef<object>[]) => void | Promise<void>>>} */
export const plants = {
  async process() {
    const child = spawn('sleep', ['3600'], { stdio: 'ignore', detached: true })
    child.unref()
    await once(child, 'spawn')
  },
  async socket() {
    await once(createServer().listen(0, '127.0.0.1').unref(), 'listening')
  },
  timer: () => void setTimeout(() => {}, 3_600_000),
  file: () => writeFileSync(join(process.env.TMPDIR, `halting-sandbox-${held.length}`), ''),
  lock: (folder) => {
    mkdirSync(join(folder, 'home'), { recursive: true })
    writeFileSync(join(folder, 'home', 'session.jsonl.lock'), '')
  },
  listener: () => void process.on('SIGUSR2', () => {}),
  object: (_folder, kept) => {
    const session = {}
    held.push(session)
    kept.push(new WeakRef(session))
  },
}
