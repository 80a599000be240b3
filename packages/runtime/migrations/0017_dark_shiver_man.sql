CREATE TABLE "svc"."memory_pieces" (
	"run_id" uuid NOT NULL,
	"n" integer NOT NULL,
	"text" text NOT NULL,
	"embedding" real[],
	CONSTRAINT "memory_pieces_run_id_n_pk" PRIMARY KEY("run_id","n")
);
--> statement-breakpoint
CREATE TABLE "svc"."memory_turns" (
	"run_id" uuid PRIMARY KEY NOT NULL,
	"session_id" uuid NOT NULL,
	"agent" text NOT NULL,
	"owner" text NOT NULL,
	"client" text,
	"user_id" text NOT NULL,
	"state" text DEFAULT 'queued' NOT NULL,
	"model" text,
	"error" text,
	"attempts" integer DEFAULT 0 NOT NULL,
	"due_at" timestamp with time zone DEFAULT now() NOT NULL,
	"lease_id" uuid,
	"lease_until" timestamp with time zone,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "svc"."memory_pieces" ADD CONSTRAINT "memory_pieces_run_id_memory_turns_run_id_fk" FOREIGN KEY ("run_id") REFERENCES "svc"."memory_turns"("run_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "svc"."memory_turns" ADD CONSTRAINT "memory_turns_session_id_sessions_id_fk" FOREIGN KEY ("session_id") REFERENCES "svc"."sessions"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "memory_turns_by_owner" ON "svc"."memory_turns" USING btree ("agent","owner","created_at");--> statement-breakpoint
CREATE INDEX "memory_turns_by_session" ON "svc"."memory_turns" USING btree ("session_id");--> statement-breakpoint
CREATE INDEX "memory_turns_by_time" ON "svc"."memory_turns" USING btree ("created_at","run_id");--> statement-breakpoint
CREATE INDEX "memory_turns_due" ON "svc"."memory_turns" USING btree ("due_at") WHERE "svc"."memory_turns"."state" in ('queued', 'embedding');