// Bundled, and run as a process that is killed: works on a session of a store in PostgreSQL.
import { workAt } from '../../../core/test/support/store-kills/child.ts'
import type { Orders } from '../../../core/test/support/store-kills/orders.ts'
import { postgresStore } from '../../src/index.ts'

// The parent wrote it.
const orders = JSON.parse(process.argv[2] ?? '') as Orders
await workAt(postgresStore({ connectionString: orders.store }), orders)
