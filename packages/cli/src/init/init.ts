import { writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { agentsFileFor } from '@halting/agent/instructions'
import { messageOf } from '@halting/core/adapters'
import { oneLine } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'

/** `halting init`: writes an AGENTS.md based on the files of this folder. Never overwrites an existing one; makes no request. */
export async function init({ cwd, output }: Program): Promise<number> {
  const path = join(cwd, 'AGENTS.md')
  const text = await agentsFileFor(cwd, basename(cwd))
  try {
    // `wx` also refuses a dangling link.
    await writeFile(path, text, { flag: 'wx' })
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'EEXIST')
      throw new UsageError(`${oneLine(path, 300)} already exists and was not changed.`)
    throw new UsageError(`${oneLine(path, 300)} cannot be written: ${messageOf(thrown)}.`)
  }
  output.out(`Written: ${oneLine(path, 300)}. Review it, and add what only you know.\n`)
  return 0
}
