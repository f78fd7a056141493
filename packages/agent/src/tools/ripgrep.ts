import { spawn } from 'node:child_process'
import { basename } from 'node:path'
import { StringDecoder } from 'node:string_decoder'
import { type PinnedFolder, pinFolder, type OpenedInPlace, openInPlace } from '@halting/policy/files'
import { headOf } from '@halting/core/adapters'
import { noRipgrep, ripgrepExit, ripgrepNotStarted, searchIncomplete, searchTimedOut } from './search-texts.ts'

/** How a search ended. A missing ripgrep is also a value, not an exception. */
export type RipgrepEnd =
  | { readonly kind: 'done'; readonly problems: string }
  /** Nothing could be searched: an invalid pattern or type, or a missing path. */
  | { readonly kind: 'failed'; readonly why: string }
  | { readonly kind: 'aborted' }
  /** The search was stopped at its time limit. */
  | { readonly kind: 'timed out' }

const longestProblems = 2000

interface RipgrepOptions {
  readonly args: readonly string[]
  readonly cwd: string
  readonly file?: string
  readonly signal: AbortSignal
  readonly limitMs: number
}

type Take = (text: string) => 'more' | 'enough'

/**
 * Runs ripgrep in a folder, or on one of its files, both by real paths, and passes on its output in chunks. `take`
 * returns 'enough' to stop early.
 */
export async function runRipgrep(options: RipgrepOptions, take: Take): Promise<RipgrepEnd> {
  const program = await ripgrepPath()
  if (program === undefined) return { kind: 'failed', why: noRipgrep }
  if (options.signal.aborted) return { kind: 'aborted' }
  // The folder or file that was judged is opened and searched, even if its path is replaced meanwhile.
  const folder = await pinFolder(options.cwd)
  let file: OpenedInPlace | undefined
  try {
    file = options.file === undefined ? undefined : await openInPlace(options.file)
    return await searchIn({ program, folder, file }, options, take)
  } finally {
    if (file?.kind === 'file') await file.file.close()
    await folder.close()
  }
}

interface SearchTarget {
  readonly program: string
  readonly folder: PinnedFolder
  readonly file: OpenedInPlace | undefined
}

function searchIn({ program, folder, file }: SearchTarget, options: RipgrepOptions, take: Take): Promise<RipgrepEnd> {
  const { signal, limitMs } = options
  const cwd = folder.pathOf('.')
  const target = file?.kind === 'file' ? [nameOf(options.file ?? '')] : []
  return new Promise<RipgrepEnd>((resolve) => {
    // --no-config: a configuration file could make ripgrep run programs (--pre). --no-require-git: .gitignore applies
    // also outside a repository.
    const child = spawn(
      program,
      ['--no-config', '--color=never', '--hidden', '--no-require-git', ...options.args, ...target],
      {
        cwd,
        stdio: ['ignore', 'pipe', 'pipe', file?.kind === 'file' ? file.file.fd : 'ignore'],
      },
    )
    let problems = ''
    let hasEnough = false
    const kill = (): void => void child.kill('SIGKILL')
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      kill()
    }, limitMs)
    signal.addEventListener('abort', kill, { once: true })
    const settle = (end: RipgrepEnd): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', kill)
      resolve(signal.aborted ? { kind: 'aborted' } : isLate && !hasEnough ? { kind: 'timed out' } : end)
    }
    const decoder = new StringDecoder('utf8')
    child.stdout?.on('data', (chunk: Buffer) => {
      if (hasEnough || take(decoder.write(chunk)) === 'more') return
      hasEnough = true
      kill()
    })
    child.stderr?.on('data', (chunk: Buffer) => {
      problems = headOf(problems + chunk.toString(), longestProblems)
    })
    child.once('error', (error) => settle({ kind: 'failed', why: ripgrepNotStarted(error.message) }))
    child.once('close', (exitCode) => {
      // 0: found, 1: nothing found, 2: problems, possibly with results. If a part could not be read, the rest was
      // searched.
      const isPartly = exitCode === 2 && /^rg: .*\(os error \d+\)/.test(problems)
      const isFine = exitCode === 0 || exitCode === 1 || hasEnough || isPartly
      settle(
        isFine ? { kind: 'done', problems } : { kind: 'failed', why: problems.trim() || ripgrepExit(String(exitCode)) },
      )
    })
  })
}

const longestProblem = 300

/** A note below results that may be incomplete. */
export function searchNote(end: RipgrepEnd, limitMs: number): string {
  if (end.kind === 'timed out') return `\n\n${searchTimedOut(limitMs)}`
  const problems = end.kind === 'done' ? end.problems : end.kind === 'failed' ? end.why : ''
  const [first = '', ...more] = problems.trim().split('\n')
  if (first === '') return ''
  return `\n\n${searchIncomplete(headOf(first.replace(/^rg: /, ''), longestProblem), more.length)}`
}

/**
 * Returns the name of the file for ripgrep: on Linux its inherited descriptor, on other systems the name in its
 * folder.
 */
function nameOf(path: string): string {
  return process.platform === 'linux' ? '/proc/self/fd/3' : `./${basename(path)}`
}

/** Returns the path of the ripgrep to use; undefined if none exists for this platform. */
export async function ripgrepPath(): Promise<string | undefined> {
  try {
    // Loaded on demand: the package locates its binary during import, and throws if none exists.
    const { rgPath } = await import('@vscode/ripgrep')
    return rgPath
  } catch {
    return undefined
  }
}

/** Folders of version control systems. */
export const withoutVersionControl: readonly string[] = ['.git', '.svn', '.hg', '.bzr', '.jj', '.sl'].map(
  (name) => `--glob=!**/${name}`,
)
