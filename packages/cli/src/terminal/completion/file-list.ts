import { spawn } from 'node:child_process'
import { ripgrepPath } from '@halting/agent'

/** The files of a folder, for completion. */
export interface FileList {
  /** Paths relative to the folder, with `/` as separator; folders end with a slash. The list is refreshed after a while. */
  paths(signal: AbortSignal): Promise<readonly string[]>
}

/** Maximum age of a list, in milliseconds. */
const freshMs = 5_000
const maxFiles = 50_000
const patienceMs = 10_000

/** Lists files with ripgrep: without ignored files and version control folders, but with hidden files. */
export function fileList(cwd: string, now: () => number): FileList {
  let known: { readonly at: number; readonly paths: Promise<readonly string[]> } | undefined
  return {
    async paths(signal) {
      if (known === undefined || now() - known.at > freshMs) {
        const paths = listFiles(cwd)
        known = { at: now(), paths }
      }
      const paths = await known.paths
      return signal.aborted ? [] : paths
    },
  }
}

async function listFiles(cwd: string): Promise<readonly string[]> {
  const program = await ripgrepPath()
  if (program === undefined) return []
  const files = await runRipgrep(program, cwd)
  const folders = new Set<string>()
  for (const file of files)
    for (let end = file.lastIndexOf('/'); end > 0; end = file.lastIndexOf('/', end - 1)) {
      const folder = file.slice(0, end + 1)
      if (folders.has(folder)) break
      folders.add(folder)
    }
  return [...folders, ...files].toSorted()
}

/** The names that ripgrep lists, up to a maximum; unreadable folders are skipped. */
function runRipgrep(program: string, cwd: string): Promise<readonly string[]> {
  return new Promise((resolve) => {
    const args = [
      '--no-config',
      '--files',
      '--hidden',
      '--no-require-git',
      '--null',
      '-g',
      '!.git',
      '-g',
      '!.hg',
      '-g',
      '!.svn',
    ]
    const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'ignore'] })
    const names: string[] = []
    let rest = ''
    const timer = setTimeout(() => child.kill('SIGKILL'), patienceMs)
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const parts = (rest + text).split('\0')
      rest = parts.pop() ?? ''
      // Names with control characters are dropped, because nobody can type them.
      names.push(...parts.filter((name) => !/\p{Cc}/u.test(name)))
      if (names.length >= maxFiles) child.kill('SIGKILL')
    })
    const end = (): void => {
      clearTimeout(timer)
      resolve(names.slice(0, maxFiles).map((name) => name.replaceAll('\\', '/')))
    }
    child.once('error', end)
    child.once('close', end)
  })
}
