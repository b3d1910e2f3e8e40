/**
 * The SQLite file and the ways to speak to it. It knows no table. Calls are synchronous, so what happens inside one
 * `transaction` happens as a whole or not at all, and nothing else of this process comes between.
 *
 * Those that take SQL are template tags: `` one<Row>`SELECT … WHERE id = ${id}` ``. What stands in `${}` is always bound and
 * never becomes part of the text, so no value can change what a statement does. `now()`,
 * here and in SQL, is the harness's clock as the database writes it; `now(30)` is thirty seconds later.
 */
import { mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type SQLInputValue as Value } from 'node:sqlite'

type Sql = TemplateStringsArray
export type Database = ReturnType<typeof openDatabase>

const SCHEMA = readFileSync(new URL('../schema.sql', import.meta.url), 'utf8')
/** Raised when `schema.sql` changes: a file of another version is not opened. A real harness migrates. */
const VERSION = 3

/** @param path a file, made with its folder where it is missing; `:memory:` for tests. Throws where it is no file of this version */
export function openDatabase(path: string, clock = () => new Date()) {
  if (path !== ':memory:') mkdirSync(dirname(path), { recursive: true })
  const database = new DatabaseSync(path)
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;')
  const version = database.prepare('PRAGMA user_version').get()?.['user_version']
  const isNew = database.prepare('SELECT 1 FROM sqlite_schema').get() === undefined
  if (!isNew && version !== VERSION) {
    database.close()
    throw new Error(`${path} was written by another version of this example; move it away and start again`)
  }
  const now = (seconds: Value = 0) => new Date(clock().getTime() + Number(seconds) * 1000).toISOString()
  database.function('now', { varargs: true }, now)
  database.exec(`${SCHEMA}; PRAGMA user_version = ${VERSION}`)
  const statements = database.createTagStore()

  return {
    now,
    // The schema is STRICT, so a column has the type it was declared with: the caller names it once, here it is believed.
    /** The rows of a query; `T` names the columns that it asks for. */
    all: <T>(sql: Sql, ...values: Value[]) => statements.all(sql, ...values) as T[],
    /** The first row; null: there is none. */
    one: <T>(sql: Sql, ...values: Value[]) => (statements.get(sql, ...values) as T | undefined) ?? null,
    /** How many rows were changed. */
    run: (sql: Sql, ...values: Value[]) => Number(statements.run(sql, ...values).changes),
    /** Commits what `work` did when it returns, undoes it when it throws. Inside another one it is a part of that. */
    transaction: <T>(work: () => T): T => {
      if (database.isTransaction) return work()
      database.exec('BEGIN IMMEDIATE')
      try {
        const value = work()
        database.exec('COMMIT')
        return value
      } catch (error) {
        // A full disk may have undone it already.
        if (database.isTransaction) database.exec('ROLLBACK')
        throw error
      }
    },
    close: () => database.close(),
  }
}
