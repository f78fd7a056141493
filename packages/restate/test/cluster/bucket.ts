// Payloads in a bucket of a server with the S3 protocol. Run by scripts/cluster.mjs: bucket.js MODULE FOLDER, where MODULE is s3rver
import { s3Payloads } from '../../src/payloads/s3-payloads.ts'
import { checkPayloads } from '../support/check-payloads.ts'
import { freePort } from './server.ts'

interface RunningServer {
  run(): Promise<void>
  close(): Promise<void>
}

const [program = '', folder = ''] = process.argv.slice(2)
const port = await freePort()
// It has no types.
const { default: S3rver } = (await import(program)) as { default: new (options: object) => RunningServer }
const configureBuckets = [{ name: 'payloads' }]
const server = new S3rver({ port, address: '127.0.0.1', silent: true, directory: folder, configureBuckets })
await server.run()
const bucket = { bucketUrl: `http://127.0.0.1:${port}/payloads`, prefix: 'halting/', pauseMs: 1 }
// Options of the server.
const problems = [...(await checkPayloads(s3Payloads({ ...bucket, accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' })))]
const stranger = s3Payloads({ ...bucket, accessKeyId: 'S3RVER', secretAccessKey: 'guessed' }).of('session')
await stranger.put('text').then(
  () => problems.push('a wrong secret is refused'),
  (error: unknown) =>
    /SignatureDoesNotMatch/.test(String(error)) || problems.push(`a wrong secret is reported as: ${String(error)}`),
)
for (const problem of problems) console.error(problem)
await server.close()
process.exit(problems.length === 0 ? 0 : 1)
