import type { EndSignal, ProcessGuard, TerminalPort } from './terminal-port.ts'

const endSignals: readonly EndSignal[] = ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT']

/** The terminal of this process. */
export function processTerminal(stdin: NodeJS.ReadStream, stdout: NodeJS.WriteStream): TerminalPort {
  // These listeners are never removed: when the window is closed, even the last write fails.
  for (const stream of [stdin, stdout]) stream.on('error', () => undefined)
  return {
    get columns() {
      return stdout.columns > 0 ? stdout.columns : 80
    },
    get rows() {
      return stdout.rows > 0 ? stdout.rows : 24
    },
    reflow: process.env['TERM_PROGRAM'] === 'vscode' ? 'xterm.js' : 'usual',
    write(data) {
      stdout.write(data)
    },
    onData(listener) {
      stdin.setEncoding('utf8')
      const listen = (data: string | Buffer): void => listener(String(data))
      stdin.on('data', listen)
      return () => stdin.off('data', listen)
    },
    onResize(listener) {
      stdout.on('resize', listener)
      return () => stdout.off('resize', listener)
    },
    setRaw(isRaw) {
      try {
        // Raw mode is turned off first: after a suspension the terminal mode differs from the mode that Node assumes,
        // and Node skips a mode that it assumes to be set.
        stdin.setRawMode(false)
        if (isRaw) stdin.setRawMode(true)
      } catch {
        // The window is closed: there is nothing to set, and cleaning up continues.
      }
      if (isRaw) stdin.resume()
      else stdin.pause()
    },
    guard: (guard) => guardProcess(guard, [stdin, stdout]),
    suspend() {
      process.kill(process.pid, 'SIGTSTP')
    },
  }
}

/** A suspension that has not started within this time, in milliseconds, never will: without job control, nobody could resume the process. */
const stopMs = 100

function guardProcess(
  { leave, resume: comeBack, onSignal, isLent }: ProcessGuard,
  streams: readonly (NodeJS.ReadStream | NodeJS.WriteStream)[],
): () => void {
  const remove: (() => void)[] = []
  const on = (name: NodeJS.Signals | 'exit', listener: () => void): void => {
    process.on(name, listener)
    remove.push(() => process.off(name, listener))
  }
  on('exit', leave)
  let isReported = false
  const end = (signal: EndSignal): void => {
    if (isLent() && (signal === 'SIGINT' || signal === 'SIGQUIT')) return
    // A closing terminal is reported several times: by the shell, by the system, and by errors of the streams.
    if (isReported && signal === 'SIGHUP') return
    if (onSignal !== undefined && !isReported) {
      isReported = true
      onSignal(signal)
      return
    }
    leave()
    for (const each of remove.splice(0)) each()
    process.kill(process.pid, signal)
  }
  for (const signal of endSignals) on(signal, () => end(signal))
  // If the shell does not forward the signal, a closed terminal is detected by its streams.
  const onClosed = (): void => end('SIGHUP')
  for (const stream of streams)
    for (const name of ['end', 'error']) {
      stream.on(name, onClosed)
      remove.push(() => stream.off(name, onClosed))
    }
  // Windows has no suspension.
  if (process.platform !== 'win32') guardStops(on, leave, comeBack)
  return () => {
    for (const each of remove.splice(0)) each()
  }
}

function guardStops(
  on: (name: NodeJS.Signals, listener: () => void) => void,
  leave: () => void,
  comeBack: () => void,
): void {
  let timer: NodeJS.Timeout | undefined
  const stop = (): void => {
    leave()
    // Without a listener, the signal has its default effect. It is sent to the whole group, so that the parent stops, too.
    process.off('SIGTSTP', stop)
    process.kill(0, 'SIGTSTP')
    timer = setTimeout(resumeAfterStop, stopMs)
  }
  const resumeAfterStop = (): void => {
    clearTimeout(timer)
    if (!process.listeners('SIGTSTP').includes(stop)) process.on('SIGTSTP', stop)
    comeBack()
  }
  on('SIGTSTP', stop)
  on('SIGCONT', resumeAfterStop)
}
