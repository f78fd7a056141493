import { spawn } from 'node:child_process'
import { homeFolder } from '@halting/policy/files'
import { type HttpServer, type McpServerEntry, signIn, SignIns } from '@halting/agent/mcp'
import { signInsFolder } from '@halting/policy'
import { messageOf } from '@halting/core/adapters'
import { oneLine } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import type { McpArguments } from './arguments.ts'

type LoginArguments = Pick<McpArguments, 'noBrowser' | 'clientId' | 'callbackPort'>

/** Signs the user in to a server. Always prints the address; opens a browser unless the user declined. */
export async function login(given: LoginArguments, entry: McpServerEntry, program: Program): Promise<number> {
  const { output, env } = program
  const name = oneLine(entry.name, 60)
  const { url, oauth = {} } = httpServer(entry)
  const clientId = given.clientId ?? oauth.clientId
  const clientSecret = secretFor(clientId, env)
  const stop = new AbortController()
  const onSignal = (): void => stop.abort(new Error('interrupted'))
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal)
  try {
    await signIn({
      url,
      signIns: signInsOf(program),
      signal: stop.signal,
      clientId,
      clientSecret,
      port: given.callbackPort ?? oauth.callbackPort,
      show(page) {
        output.err(`Sign in to ${name} in a browser on this machine:\n${page.href}\n`)
        if (!given.noBrowser) openBrowser(page, env)
      },
    })
  } catch (thrown) {
    output.err(`halting: the login to ${name} failed: ${oneLine(messageOf(thrown), 300)}.\n`)
    return 1
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
  }
  output.out(`Signed in to ${name} (${oneLine(url, 200)}). Sign out with halting mcp logout ${name}.\n`)
  return 0
}

/** The secret is not read from a flag, since every process can read command lines. */
function secretFor(
  clientId: string | undefined,
  { MCP_CLIENT_SECRET: secret = '' }: Program['env'],
): string | undefined {
  if (secret === '') return undefined
  if (clientId !== undefined) return secret
  throw new UsageError('MCP_CLIENT_SECRET needs --client-id, the ID that it belongs to.')
}

/** Deletes the stored login of a server. */
export async function logout(entry: McpServerEntry, program: Program): Promise<number> {
  const { url } = httpServer(entry)
  const signIns = signInsOf(program)
  const wasThere = await signIns.locked(url, () => signIns.forget(url))
  const name = oneLine(entry.name, 60)
  program.output.out(
    wasThere
      ? `Signed out of ${name}. Only the stored login was removed; the server was not contacted.\n`
      : `Not signed in to ${name}.\n`,
  )
  return 0
}

function signInsOf({ cwd, env }: Program): SignIns {
  return new SignIns(signInsFolder({ cwd, env, home: homeFolder(env) }))
}

function httpServer({ name, server }: McpServerEntry): HttpServer {
  if ('problem' in server) throw new UsageError(`The server ${oneLine(name, 60)} cannot be reached: ${server.problem}.`)
  if (server.type === 'http' || server.type === 'sse') return server
  throw new UsageError(`The server ${oneLine(name, 60)} is a program on this machine; login needs a server with a URL.`)
}

/** Opens the address in a browser. Ignores failures, since the address was printed. */
function openBrowser(page: URL, env: Program['env']): void {
  const [command, ...args] = browserOf(env)
  const child = spawn(command, [...args, page.href], { stdio: 'ignore', detached: true, env: { ...env } })
  child.once('error', () => undefined)
  child.unref()
}

function browserOf({ BROWSER: named = '' }: Program['env']): readonly [string, ...string[]] {
  if (named.trim() !== '') return [named.trim()]
  switch (process.platform) {
    case 'darwin':
      return ['open']
    case 'win32':
      return ['rundll32', 'url.dll,FileProtocolHandler']
    default:
      return ['xdg-open']
  }
}
