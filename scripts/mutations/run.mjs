// Runs a program with a limit of time, and ends it with all that it started.
import { spawn } from 'node:child_process'

/**
 * @param onLine Called with every line of stdout, for whoever wants to set the limit anew as it goes (`restart`).
 * @returns code (null when it was ended), whether the limit ended it, and all that it printed.
 */
export function run(program, args, { cwd, limitMs, env = process.env, onLine = () => {} }) {
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    let line = ''
    let isEnded = false
    let timer
    const restart = (ms) => {
      clearTimeout(timer)
      timer = setTimeout(() => {
        isEnded = true
        process.kill(-child.pid, 'SIGKILL')
      }, ms)
    }
    restart(limitMs)
    child.stdout.on('data', (data) => {
      output += data
      line += data
      for (let end = line.indexOf('\n'); end >= 0; end = line.indexOf('\n')) {
        onLine(line.slice(0, end), restart)
        line = line.slice(end + 1)
      }
    })
    child.stderr.on('data', (data) => (output += data))
    child.on('close', (code) => {
      clearTimeout(timer)
      resolve({ code, isEnded, output })
    })
  })
}
