// Installs packages of npm that a check needs and the workspace does not have.
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Installs packages in a folder, without their scripts. Returns `{}`, or `{ why }` if they cannot be installed: the check is then reported as skipped.
 * @param {string} folder @param {readonly string[]} packages names with versions
 * @param {{ patienceMs: number, env?: NodeJS.ProcessEnv }} options
 * @returns {{ why?: string }}
 */
export function installPackages(folder, packages, { patienceMs, env = process.env }) {
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
  const options = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund']
  try {
    execFileSync('npm', ['install', ...options, ...packages], {
      cwd: folder,
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: patienceMs,
    })
    return {}
  } catch (error) {
    const [why] = String(error.stderr || error.message)
      .trim()
      .split('\n')
    return { why }
  }
}
