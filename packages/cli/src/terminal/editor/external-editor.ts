import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '@halting/core/adapters'

export type Edited =
  | { readonly kind: 'edited'; readonly text: string }
  /** Why not; the text is what it was. */
  | { readonly kind: 'failed'; readonly why: string }

/** The editor of a person: `$VISUAL`, `$EDITOR`, else vi. */
function editorOf(env: Readonly<Record<string, string | undefined>>): string {
  return [env['VISUAL'], env['EDITOR']].find((name) => name !== undefined && name.trim() !== '') ?? 'vi'
}

/** Has a person write the text in their own editor, which has the terminal for that time. */
export async function editOutside(
  text: string,
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
): Promise<Edited> {
  const editor = editorOf(env)
  let folder: string | undefined
  try {
    folder = await mkdtemp(join(tmpdir(), 'halting-edit-'))
    const path = join(folder, 'prompt.md')
    await writeFile(path, text, { mode: 0o600 })
    const failed = await run(editor, path, env, cwd)
    if (failed !== undefined) return { kind: 'failed', why: failed }
    return { kind: 'edited', text: (await readFile(path, 'utf8')).replace(/\r?\n$/, '') }
  } catch (thrown) {
    return { kind: 'failed', why: messageOf(thrown) }
  } finally {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true }).catch(() => undefined)
  }
}

/** By the shell, as `code --wait` is two words; the path is an argument of its own. */
function run(
  editor: string,
  path: string,
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawn('/bin/sh', ['-c', `${editor} "$1"`, 'sh', path], { stdio: 'inherit', env: { ...env }, cwd })
    child.once('error', (error) => resolve(`${editor} could not start: ${error.message}`))
    child.once('close', (code, signal) => {
      if (code === 0) resolve(undefined)
      else resolve(`${editor} failed with ${signal ?? `exit code ${code}`}. Set VISUAL or EDITOR to another editor.`)
    })
  })
}
