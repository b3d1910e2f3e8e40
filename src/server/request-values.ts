/** Reads single values from a request's path and query, whose types fastify leaves open. */
import type { FastifyRequest } from 'fastify'

/** A parameter of the route's path; '' where the route has none of that name. */
export function parameter(request: FastifyRequest, name: string): string {
  const value = (request.params as Readonly<Record<string, unknown>>)[name]
  return typeof value === 'string' ? value : ''
}

/** A query value that stands exactly once; null otherwise. */
export function queryValue(request: FastifyRequest, name: string): string | null {
  const value = (request.query as Readonly<Record<string, unknown>>)[name]
  return typeof value === 'string' ? value : null
}
