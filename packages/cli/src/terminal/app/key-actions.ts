import { messageOf } from '@halting/core/adapters'
import { runCommand } from '../commands/table.ts'
import type { AppAction } from '../keys/actions.ts'
import { pastedText } from '../keys/typed-text.ts'
import type { KeyTable } from '../keys/key-table.ts'
import type { ShellCommands } from '../shell/shell-commands.ts'
import type { AppContext } from './context.ts'
import type { When } from './prompt-sender.ts'
import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { homeFolder } from '@halting/policy/files'
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'

interface Options {
  readonly app: AppContext
  readonly keys: KeyTable
  readonly shell: ShellCommands
  readonly submit: (text: string, when: When) => void
  /** Whether something covers the editor and receives the keys. */
  readonly isCovered: () => boolean
  /** Whether a question of the session covers it. */
  readonly isAsked: () => boolean
  readonly now: () => number
  /** Shows a hint on the line with the keys until the next key press. */
  readonly hint: (text: string) => void
}

/** Whether the key was handled; `alone`: it was handled and cannot start a double press. */
type Done = boolean | 'alone'

/** Two presses within this time are a double press. */
const pairMs = 1_000

/** Handles keys before the editor; returns true for a handled key. */
export function createKeyActions(options: Options): (data: string) => boolean {
  const actions = new KeyActions(options)
  return (data) => actions.handle(data)
}

type Handlers = { readonly [action in AppAction]: () => Done }

class KeyActions {
  readonly #app: Options['app']
  readonly #keys: Options['keys']
  readonly #shell: Options['shell']
  readonly #isCovered: Options['isCovered']
  readonly #isAsked: Options['isAsked']
  readonly #now: Options['now']
  readonly #hint: Options['hint']
  #before: { readonly action: AppAction; readonly at: number } | undefined
  readonly #handlers: Handlers

  constructor({ app, keys, shell, submit, isCovered, isAsked, now, hint }: Options) {
    this.#app = app
    this.#keys = keys
    this.#shell = shell
    this.#isCovered = isCovered
    this.#isAsked = isAsked
    this.#now = now
    this.#hint = hint
    this.#handlers = { ...this.#inputHandlers(submit), ...this.#viewHandlers() }
  }

  handle(data: string): boolean {
    const action = this.#keys(data)
    this.#hint('')
    if (this.#isCovered()) return this.#coveredKey(action)
    // On a cluster, the session does not have the files of this machine.
    const mention = this.#app.cluster === undefined ? pastedImage(data, this.#app) : undefined
    if (mention !== undefined) {
      this.#app.editor.insert(mention)
      return true
    }
    const done = action !== undefined && this.#handlers[action]()
    this.#before =
      action === undefined || done === 'alone' || this.#isSecond(action) ? undefined : { action, at: this.#now() }
    return done !== false
  }

  /** Keys for typed, queued and running input. */
  #inputHandlers(submit: Options['submit']): Pick<Handlers, 'queue' | 'takeBack' | 'interrupt' | 'clear' | 'leave'> {
    const app = this.#app
    const hint = this.#hint
    return {
      queue: () => {
        if (app.editor.isEmpty) return true
        submit(app.editor.take(), 'later')
        return true
      },
      takeBack: () => {
        const text = app.promptSender.retractLast()
        if (text === undefined) hint('No message is queued')
        else app.editor.putBefore([text])
        return true
      },
      interrupt: () => {
        if (app.editor.hasMenu) return false
        const wasRunning = this.#stop()
        if (wasRunning || !app.editor.isEmpty) return 'alone'
        if (this.#isSecond('interrupt')) runCommand(app, 'rewind')
        else hint('Press Esc again to rewind')
        return true
      },
      clear: () => {
        // This also applies if the interrupted run returned text to the editor: after quitting, the text is in the history.
        if (this.#isSecond('clear')) {
          app.leave(0)
          return true
        }
        if (!app.editor.isEmpty) {
          this.#remember(app.editor.take())
          return 'alone'
        }
        if (this.#stop()) hint('Stopping. Press Ctrl+C again to quit')
        else hint('Press Ctrl+C again to quit')
        return true
      },
      leave: () => {
        if (!app.editor.isEmpty) return false
        app.leave(0)
        return true
      },
    }
  }

  /** Keys that show something, or leave the editor. */
  #viewHandlers(): Omit<Handlers, 'queue' | 'takeBack' | 'interrupt' | 'clear' | 'leave'> {
    const app = this.#app
    return {
      cycleMode: () => {
        runCommand(app, 'mode', 'next')
        return true
      },
      transcript: () => {
        runCommand(app, 'transcript')
        return true
      },
      todos: () => {
        app.toggleTodos()
        return true
      },
      tasks: () => {
        runCommand(app, 'tasks')
        return true
      },
      searchHistory: () => {
        runCommand(app, 'history')
        return true
      },
      openEditor: () => {
        void editPromptExternally(app).catch((thrown: unknown) => app.fail(thrown))
        return true
      },
      redraw: () => {
        app.screen.redraw()
        return true
      },
      suspend: () => {
        app.screen.suspend()
        return true
      },
      showKeys: () => {
        if (!app.editor.isEmpty) return false
        runCommand(app, 'help', 'keys')
        return true
      },
    }
  }

  #isSecond(action: AppAction): boolean {
    return this.#before?.action === action && this.#now() - this.#before.at < pairMs
  }

  #stop(): boolean {
    if (this.#shell.isRunning) {
      this.#app.editor.putBefore(this.#shell.stop())
      return true
    }
    return this.#app.promptSender.interrupt() || this.#app.loops.pause()
  }

  #remember(text: string): void {
    if (text.trim() === '') return
    this.#app.history.add(text)
    this.#app.editor.remember(text)
  }

  /** Handles the keys that also work while the editor is covered. */
  #coveredKey(action: AppAction | undefined): boolean {
    if (action === 'clear') return this.#coveredClear()
    this.#before = undefined
    if (action !== 'redraw' && action !== 'suspend') return false
    return this.#handlers[action]() !== false
  }

  /** Stops the run that asked the question; a list or page closes by itself. A double press quits (spec R-TERM-70b). */
  #coveredClear(): boolean {
    if (this.#isSecond('clear')) {
      this.#app.leave(0)
      return true
    }
    if (this.#isAsked()) {
      this.#app.promptSender.interrupt()
      this.#before = { action: 'clear', at: this.#now() }
      this.#hint('Stopping. Press Ctrl+C again to quit')
      return true
    }
    // After a list is closed, the next press acts as if there had been no list: it clears the text, or stops the run.
    const isAlone = this.#app.editor.isEmpty && this.#app.open?.session.snapshot.status === 'idle'
    this.#before = isAlone ? { action: 'clear', at: this.#now() } : undefined
    if (isAlone) this.#hint('Press Ctrl+C again to quit')
    return false
  }
}

/** The mention of an image in pasted text. */
function pastedImage(data: string, app: AppContext): string | undefined {
  const pasted = pastedText(data)
  return pasted === undefined ? undefined : imageMention(pasted, app.cwd)
}

async function editPromptExternally(app: AppContext): Promise<void> {
  const text = app.editor.take()
  try {
    const edited = await app.screen.lend(() => editOutside(text, app.program.env, app.program.cwd))
    // The run may have returned text in the meantime.
    const givenBack = app.editor.take()
    app.editor.setText(edited.kind === 'edited' ? edited.text : text)
    if (givenBack !== '') app.editor.putBefore([givenBack])
    if (edited.kind === 'failed') app.note(edited.why)
  } catch (thrown) {
    app.editor.putBefore([text])
    app.note(messageOf(thrown))
  }
}

const images = /\.(?:png|jpe?g|gif|webp)$/i

/**
 * The mention of an image whose path was pasted. Terminals paste the path of a dropped file in quotation marks or with backslashes.
 * Undefined for anything else.
 */
export function imageMention(pasted: string, cwd: string): string | undefined {
  const line = pasted.trim()
  if (line === '' || line.includes('\n') || line.length > 4_000) return undefined
  const path = unquoted(line)
  if (!images.test(path) || path.includes('"') || /\p{Cc}/u.test(path)) return undefined
  // A bare name may be meant as an ordinary word.
  if (!/^(?:~?\/|\.\.?\/|[A-Za-z]:\\)/.test(path)) return undefined
  try {
    const place = path.startsWith('~/') ? join(homeFolder(), path.slice(2)) : resolve(cwd, path)
    if (!statSync(place).isFile()) return undefined
    return /\s/.test(path) ? `@"${path}" ` : `@${path} `
  } catch {
    return undefined
  }
}

function unquoted(line: string): string {
  const url = /^file:\/\/(\/.*)$/.exec(line)?.[1]
  if (url !== undefined) {
    try {
      return decodeURIComponent(url)
    } catch {
      return url
    }
  }
  const quoted = /^(['"])(.*)\1$/.exec(line)?.[2]
  return quoted ?? line.replaceAll(/\\(.)/g, '$1')
}

type Edited =
  | { readonly kind: 'edited'; readonly text: string }
  /** Editing failed for this reason; the text is unchanged. */
  | { readonly kind: 'failed'; readonly why: string }

/** The editor of the person: `$VISUAL`, `$EDITOR`, else vi. */
function editorOf(env: Readonly<Record<string, string | undefined>>): string {
  return [env['VISUAL'], env['EDITOR']].find((name) => name !== undefined && name.trim() !== '') ?? 'vi'
}

/** Opens the text in an external editor, which has the terminal in the meantime. */
async function editOutside(
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

/** Runs the editor by the shell, because `code --wait` is two words; the path is passed as an argument. */
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
