// The client of scripts/mcp-conformance.mjs: our MCP client at the address that the kit gives it. A scripted person signs in if asked to,
// and answers each form with its defaults. Needs a build.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { McpServers, signIn, SignIns } from '../packages/agent/dist/mcp/index.js'

const url = process.argv.at(-1)
const { client_id: clientId, client_secret: clientSecret } = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}')
const folder = mkdtempSync(join(tmpdir(), 'halting-conformance-'))
const signIns = new SignIns(folder)
const { signal } = new AbortController()
const maxSignIns = 3

const servers = new McpServers({
  servers: [{ name: 'kit', server: { type: 'http', url, headers: {} } }],
  cwd: folder,
  signIns,
  limits: { connectMs: 10_000, waitMs: 10_000, waitAfterFirstMs: 10_000, toolMs: 15_000 },
  elicit: async (_server, { requestedSchema }) => ({ action: 'accept', content: defaultsOf(requestedSchema) }),
})

try {
  await servers.ready()
  for (let tries = 0; servers.statuses[0]?.status === 'needs-auth' && tries < maxSignIns; tries++)
    await connectSignedIn()
  const [{ status, problem }] = servers.statuses
  if (status !== 'connected') throw new Error(`${status}: ${problem}`)
  for (const name of servers.names) await callSignedIn(name)
} finally {
  await servers.dispose()
  rmSync(folder, { recursive: true, force: true })
}

/** The kit's own page sends the browser back at once. */
function signInAtKit() {
  return signIn({ url, signIns, signal, clientId, clientSecret, show: async (page) => void (await fetch(page)) })
}

async function connectSignedIn() {
  await signInAtKit()
  await servers.reconnect('kit').catch(() => undefined)
}

/** Calls a tool. If that needs a further permission, signs in and calls it again, as often as a person would. */
async function callSignedIn(name) {
  for (let tries = 0; tries < maxSignIns; tries++) {
    const { content, isError } = await servers.tool(name).execute(inputOf(name), contextOf(name))
    console.log(name, JSON.stringify(content))
    if (isError !== true || !/halting mcp login/.test(JSON.stringify(content))) return
    await connectSignedIn()
  }
}

function inputOf(name) {
  return name.endsWith('__add_numbers') ? { a: 5, b: 3 } : {}
}

function contextOf(toolName) {
  return { callId: 'c', toolName, signal, idempotencyKey: 'k', progress: () => undefined }
}

function defaultsOf({ properties = {} } = {}) {
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, field]) => ('default' in field ? [[name, field.default]] : [])),
  )
}
