// Leaves each kind of thing behind in turn, and prints as JSON what the soak finds of it. A test checks the output. It runs in a process of its own because a test runner has
// timers and sockets.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { markVariable, processesOf, whatIsLeft, whatIsThere } from './look.mjs'
import { plants } from './plants.mjs'

const [root = ''] = process.argv.slice(2)
const mark = `planted-${process.pid}`
const found = {}
process.env[markVariable] = mark
for (const name of ['nothing', ...Object.keys(plants)]) {
  const place = { mark, temporary: join(root, name, 'tmp'), folder: join(root, name, 'sessions') }
  for (const folder of [place.temporary, place.folder]) mkdirSync(folder, { recursive: true })
  process.env.TMPDIR = place.temporary
  const before = whatIsThere()
  const kept = []
  await plants[name]?.(place.folder, kept)
  found[name] = whatIsLeft(before, place)
  if (kept.some((reference) => reference.deref() !== undefined)) found[name].push('an object is held')
  // Leftovers that are found by their mark would be found in the next turn, too.
  for (const { pid } of processesOf(mark)) process.kill(pid, 'SIGKILL')
  while (processesOf(mark).length > 0) await new Promise((resolve) => setTimeout(resolve, 5))
}
process.stdout.write(JSON.stringify(found))
process.exit(0)
