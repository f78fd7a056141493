// A client for waiting.mjs: follow.mjs INGRESS KEY,KEY… [unread]. It follows sessions and reports when runs end; with `unread` it cannot read live events.
import { createClusterClient } from '@halting/restate/client'

const [ingress, keys, how = ''] = process.argv.slice(2)
const worker = how === 'unread' ? { reach: () => 'http://127.0.0.1:1' } : {}
const client = createClusterClient({ ingress, worker })
for (const key of keys.split(',')) {
  client.session(key).listen((event) => {
    if (event.type === 'run_end' || event.type === 'question') process.send({ key, type: event.type, at: Date.now() })
  })
}
process.send('follows')
