import { spawn } from 'node:child_process'
import type { Environment } from '../tools/limits.ts'

/** Contents of objects of git's store, as they are: no filter is run. What is not there is left out. */
export async function readObjects(
  cwd: string,
  git: readonly string[],
  env: Environment,
  objects: ReadonlySet<string>,
): Promise<ReadonlyMap<string, Buffer>> {
  if (objects.size === 0) return new Map()
  const told = await new Promise<Buffer>((resolve) => {
    const child = spawn('git', [...git, 'cat-file', '--batch'], { cwd, env, stdio: ['pipe', 'pipe', 'ignore'] })
    const chunks: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
    child.once('error', () => resolve(Buffer.alloc(0)))
    child.once('close', () => resolve(Buffer.concat(chunks)))
    child.stdin.on('error', () => undefined)
    child.stdin.end([...objects].join('\n') + '\n')
  })
  const found = new Map<string, Buffer>()
  for (let at = 0; at < told.length;) {
    const end = told.indexOf(10, at)
    if (end < 0) break
    const [object = '', type, size] = told.toString('latin1', at, end).split(' ')
    at = end + 1
    // `<object> missing` has nothing behind it.
    if (type === 'missing' || size === undefined) continue
    const length = Number(size)
    if (type === 'blob' && at + length <= told.length) found.set(object, told.subarray(at, at + length))
    at += length + 1
  }
  return found
}
