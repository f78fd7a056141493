// Runs a program with a limit, and ends it with all that it started.
import { execFile, spawn } from 'node:child_process'

const pollMs = 1_000

/**
 * `limitMs` is time of the processor, so that a busy machine ends nothing; what waits for ever is ended after `wallMs`.
 * @param onLine Called with every line of stdout, and with a function that starts the limit anew.
 * @returns the exit code (null when it was ended), whether the limit ended it, the processor time, and all that it printed.
 */
export function run(program, args, { cwd, limitMs, wallMs = 1_800_000, env = process.env, onLine = () => {} }) {
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    let line = ''
    let isEnded = false
    let cpuMs = 0
    let from = 0
    let limit = limitMs
    let isRestarted = false
    const end = () => {
      isEnded = true
      // With what it has started; one that could not be started has no number.
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    }
    const restart = (ms) => {
      limit = ms
      isRestarted = true
    }
    const look = async () => {
      cpuMs = Math.max(cpuMs, await cpuOf(child.pid))
      if (isRestarted) {
        from = cpuMs
        isRestarted = false
      } else if (cpuMs - from > limit && child.exitCode === null) end()
    }
    const poll = setInterval(() => void look(), pollMs)
    const wall = setTimeout(end, wallMs)
    child.stdout.on('data', (data) => {
      output += data
      line += data
      for (let stop = line.indexOf('\n'); stop >= 0; stop = line.indexOf('\n')) {
        onLine(line.slice(0, stop), restart)
        line = line.slice(stop + 1)
      }
    })
    child.stderr.on('data', (data) => (output += data))
    child.on('close', (code) => {
      clearInterval(poll)
      clearTimeout(wall)
      resolve({ code, isEnded, cpuMs, output })
    })
  })
}

/** Time of the processor that a process took, from `[[days-]hours:]minutes:seconds`. */
function cpuOf(pid) {
  return new Promise((resolve) => {
    execFile('ps', ['-o', 'cputime=', '-p', String(pid)], (error, output) => {
      const [seconds = 0, minutes = 0, hours = 0, days = 0] = output.trim().split(/[-:]/).map(Number).toReversed()
      resolve(error === null ? (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000 : 0)
    })
  })
}
