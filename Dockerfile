# syntax=docker/dockerfile:1

# Node 24 runs the engine; the repository's own `node` package is for machines with an older one and is not used here.
FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# No package that is needed here has an install script.
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
RUN node node_modules/typescript/bin/tsc -p tsconfig.build.json

FROM node:24-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts

FROM node:24-slim
ENV NODE_ENV=production PORT=8080
WORKDIR /app
COPY --from=packages /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json LICENSE ./
# For STATE_DIR and LOG_DIR: a new volume takes the owner of the folder it is mounted over, and the process is not root.
RUN mkdir -p /var/lib/theloop/state /var/lib/theloop/journal && chown -R node:node /var/lib/theloop
USER node
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/health').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# Exec form: the process is PID 1 and gets SIGTERM itself. It starts no other process, so no init is needed.
STOPSIGNAL SIGTERM
CMD ["node", "dist/main.js"]
