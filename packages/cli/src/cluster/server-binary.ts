import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { messageOf } from '@halting/core/adapters'
import type { Flags } from '../flags/flags.ts'
import { askLine, isYes } from '../io/ask.ts'
import { programMessage } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { userFolder } from '../terminal/user-folder.ts'
import { UsageError } from '../usage-error.ts'

/** The version of the engine that halting is tested with. */
export const testedEngineVersion = '1.7.12'
const platforms: ReadonlySet<string> = new Set(['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'])
const installTimeoutMs = 600_000

/**
 * The path of the engine's program: the one of `--server`, the one already installed, or one from npm after the user
 * agrees.
 * @throws UsageError if it cannot be provided
 */
export async function serverBinary({ server, yes }: Flags, program: Program): Promise<string> {
  if (server !== undefined) {
    const path = resolve(program.cwd, server)
    if (existsSync(path)) return path
    throw new UsageError(`--server takes the program restate-server, but there is no file ${server}.`)
  }
  const platform = `${process.platform}-${process.arch}`
  if (!platforms.has(platform))
    throw new UsageError(`npm has no restate-server for ${platform}. Run one elsewhere: halting serve --restate URL.`)
  const name = `@restatedev/restate-server-${platform}`
  const folder = join(userFolder(program), 'restate', testedEngineVersion)
  const path = join(folder, 'node_modules', name, 'bin', 'restate-server')
  if (existsSync(path)) return path
  await requireConsent(
    `${name} ${testedEngineVersion} is required and available from npm. Its license is BSL 1.1.`,
    folder,
    {
      yes,
      program,
    },
  )
  await install(`${name}@${testedEngineVersion}`, folder, program)
  return path
}

interface ConsentContext {
  readonly yes: boolean | undefined
  readonly program: Program
}

async function requireConsent(what: string, folder: string, { yes, program }: ConsentContext): Promise<void> {
  if (yes === true) return
  const { stdin, output } = program
  const isAsked = stdin.isTTY && output.isTerminal.stderr
  const answer = isAsked
    ? await askLine(`${what} Install it into ${folder}? [y/N] `, { stdin, stderr: process.stderr })
    : undefined
  if (!isYes(answer)) throw new UsageError(`${what} Install it into ${folder} with halting cluster dev --yes.`)
}

async function install(wanted: string, folder: string, { output, env }: Program): Promise<void> {
  output.err(programMessage(`installing ${wanted} …`))
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), '{ "private": true }\n')
  const options = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund']
  try {
    // On Windows, npm is a shell script; but there is no server for Windows.
    await promisify(execFile)('npm', ['install', ...options, wanted], {
      cwd: folder,
      env: { ...env },
      timeout: installTimeoutMs,
    })
  } catch (error) {
    throw new UsageError(`npm could not install ${wanted}: ${messageOf(error).split('\n').slice(0, 3).join(' ')}`)
  }
}
